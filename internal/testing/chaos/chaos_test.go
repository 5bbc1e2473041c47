package chaos_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-go/holdfast/internal/testing/chaos"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

func TestMain(m *testing.M) {
	if os.Getenv(chaos.ProcessVariable) != "" {
		chaos.Process()
		return
	}
	redistest.Main(m)
}

var (
	duration  = flag.Duration("duration", 0, "for each TTL; without it some short runs are made")
	ttl       = flag.Duration("ttl", 0, "the locks' TTL; without it 100 ms and 1 s")
	clients   = flag.Int("clients", 8, "how many clients")
	workers   = flag.Int("workers", 2, "goroutines of each client")
	names     = flag.Int("names", 2, "how many locks, besides one without expiry and those of a pool")
	processes = flag.Int("processes", 2, "how many processes that are killed and stopped")
	seed      = flag.Uint64("seed", 0, "of programs and faults; without it a random one")
	operator  = flag.Bool("operator", false, "let locks be deleted, reset and seized, too")
	replay    = flag.String("replay", "", "check the history in this file again")
	out       = flag.String("out", "", "where to write histories that fail; without it a new directory")
)

// The chaos runs are not parallel: each counts the process's goroutines, and its bounds are for a
// machine that has nothing else to do than one of them.
func TestFaultChaos(t *testing.T) {
	for _, cfg := range configs() {
		t.Run(title(cfg), func(t *testing.T) { run(t, cfg) })
	}
}

func title(cfg chaos.Config) string {
	title := fmt.Sprintf("ttl=%v,seed=%d", cfg.TTL, cfg.Seed)
	if cfg.Operator {
		title += ",operator"
	}
	return title
}

// common is what all runs have in common: what the flags say.
func common() chaos.Config {
	cfg := chaos.Config{
		Seed: *seed, Clients: *clients, Workers: *workers, Names: *names, Processes: *processes,
		Operator: *operator, Duration: *duration, Round: 8 * time.Second,
	}
	if !cfg.Operator {
		cfg.Strangers = 1
	}
	if cfg.Seed == 0 {
		cfg.Seed = uint64(rand.Uint32())
	}
	return cfg
}

// configs returns the runs: what the flags say, or short ones, at two TTLs, with fixed seeds and one
// random one.
func configs() []chaos.Config {
	cfg := common()
	ttls := []time.Duration{100 * time.Millisecond, time.Second}
	if *ttl != 0 {
		ttls = []time.Duration{*ttl}
	}
	var all []chaos.Config
	for _, cfg.TTL = range ttls {
		if cfg.Duration != 0 {
			all = append(all, cfg)
			continue
		}
		short := cfg // a round without faults, and one with
		short.Duration, short.Round = time.Second, 3*time.Second
		all = append(all, short)
		short.Seed = 1
		all = append(all, short)
		short.Operator, short.Strangers, short.Seed = true, 0, 2
		all = append(all, short)
	}
	if cfg.Duration == 0 && *ttl == 0 { // the shortest that there is
		cfg.TTL, cfg.Duration, cfg.Round, cfg.Seed = 50*time.Millisecond, time.Second, 3*time.Second, 3
		all = append(all, cfg)
	}
	return all
}

// run makes one run, and says what came of it.
func run(t *testing.T, cfg chaos.Config) {
	fmt.Printf("chaos: %s clients=%d workers=%d processes=%d names=%d\n",
		title(cfg), cfg.Clients, cfg.Workers, cfg.Processes, cfg.Names)
	var sum summary
	chaos.Run(t, cfg, func(h *chaos.History) bool {
		sum.add(h)
		return judge(t, h)
	})
	fmt.Printf("chaos: %s: %v\n", title(cfg), &sum)
	if !t.Failed() && (len(sum.leases) == 0 || sum.faults == 0) {
		t.Error("nothing happened")
	}
	if !t.Failed() && cfg.Duration >= 20*time.Second && (sum.lost == 0 || long(sum.unharmed) == 0) {
		t.Error("no lock was found free by a look: the rule about gaps was not tried")
	}
}

// judge fails the test if the history breaks a rule, and keeps it then.
func judge(t *testing.T, h *chaos.History) bool {
	t.Helper()
	found, picture := verdict(h)
	if len(found) == 0 {
		return true
	}
	t.Errorf("seed %d, round %d: %d violations", h.Config.Seed, h.Round, len(found))
	for _, v := range found[:min(len(found), 20)] {
		t.Log(v)
	}
	keep(t, h, picture)
	return false
}

// keep writes the history to a file, and porcupine's picture of it beside it.
func keep(t *testing.T, h *chaos.History, picture *porcupine.LinearizationInfo) {
	t.Helper()
	dir, err := *out, error(nil)
	if dir == "" {
		dir, err = os.MkdirTemp("", "holdfast-chaos-")
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	base := filepath.Join(dir, fmt.Sprintf("ttl-%v-seed-%d-round-%d", h.Config.TTL, h.Config.Seed, h.Round))
	if err == nil {
		err = h.Write(base + ".json")
	}
	if err == nil && picture != nil {
		err = porcupine.VisualizePath(mutexModel, *picture, base+".html")
	}
	if err != nil {
		t.Errorf("keeping the history: %v", err)
		return
	}
	t.Logf("check the history again with: go test ./internal/testing/chaos -run TestReplay -v -args -replay %s.json",
		base)
}

// TestReplay checks a history again that was kept.
func TestReplay(t *testing.T) {
	t.Parallel()
	if *replay == "" {
		redistest.Skip(t, "there is no history to check again; -replay gives one")
	}
	h, err := chaos.Read(*replay)
	if err != nil {
		t.Fatal(err)
	}
	found, picture := verdict(h)
	for _, v := range found {
		t.Error(v)
	}
	if picture != nil {
		if err := porcupine.VisualizePath(mutexModel, *picture, *replay+".html"); err != nil {
			t.Error(err)
		}
	}
}
