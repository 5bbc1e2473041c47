// Package scripts holds the Lua scripts that change and read locks in Redis. Each file's header
// says what the script does, what its keys and arguments are and what it returns; docs/wire.md
// describes the keys.
package scripts

import (
	"crypto/sha1"
	_ "embed" // for the scripts
	"encoding/hex"
)

// A Script is one Lua script and the name under which Redis keeps it.
type Script struct {
	Name   string // the file's name without .lua
	Source string // the whole text, as sent with EVAL
	SHA1   string // what EVALSHA calls it: the text's SHA-1 in lower-case hex

	// Fits reports whether a reply of Redis, which is no error, can be one to a run of the script with
	// the arguments that EVALSHA had.
	Fits func(args []any, reply any) bool
}

// The scripts. Nothing changes them after the program's start.
var (
	Acquire     = New("acquire", acquire, fitsAcquire)
	AcquireAny  = New("acquire_any", acquireAny, fitsAcquireAny)
	Extend      = New("extend", extend, fitsExtend)
	Look        = New("look", look, fitsLook)
	LookAny     = New("look_any", lookAny, fitsLookAny)
	Owner       = New("owner", owner, fitsOwner)
	PoolAssign  = New("pool_assign", poolAssign, fitsPoolAssign)
	PoolChange  = New("pool_change", poolChange, fitsCount)
	PoolMembers = New("pool_members", poolMembers, fitsPoolMembers)
	Probe       = New("probe", probe, fitsProbe)
	Register    = New("register", register, fitsRegister)
	Release     = New("release", release, fitsRelease)
	ReleaseAny  = New("release_any", releaseAny, fitsReleaseAny)
	Repair      = New("repair", repair, fitsRepair)
	Reset       = New("reset", reset, fitsReset)
	Take        = New("take", take, fitsTake)
)

var (
	//go:embed acquire.lua
	acquire string
	//go:embed acquire_any.lua
	acquireAny string
	//go:embed extend.lua
	extend string
	//go:embed look.lua
	look string
	//go:embed look_any.lua
	lookAny string
	//go:embed owner.lua
	owner string
	//go:embed pool_assign.lua
	poolAssign string
	//go:embed pool_change.lua
	poolChange string
	//go:embed pool_members.lua
	poolMembers string
	//go:embed probe.lua
	probe string
	//go:embed register.lua
	register string
	//go:embed release.lua
	release string
	//go:embed release_any.lua
	releaseAny string
	//go:embed repair.lua
	repair string
	//go:embed reset.lua
	reset string
	//go:embed take.lua
	take string
)

// All returns every script, in the order of their names.
func All() []Script {
	return []Script{
		Acquire, AcquireAny, Extend, Look, LookAny, Owner, PoolAssign, PoolChange,
		PoolMembers, Probe, Register, Release, ReleaseAny, Repair, Reset, Take,
	}
}

// New returns a script of this name and text. fits says which replies can be one to a run of it.
func New(name, source string, fits func(args []any, reply any) bool) Script {
	sum := sha1.Sum([]byte(source))
	return Script{Name: name, Source: source, SHA1: hex.EncodeToString(sum[:]), Fits: fits}
}
