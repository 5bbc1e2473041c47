package engine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/renewal"
)

// The operators' page has the texts of all losses, as they are.
func TestTextsOfLosses(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	late := func(why error) error { return fmt.Errorf("%w: %w", renewal.ErrExpired, why) }
	somebody := owner.ID{Label: "importer", Since: time.Unix(1, 0)}
	for _, c := range []struct {
		cause error
		upTo  string // where the part of the text ends that is always the same; "": it is all
	}{
		{&OtherOwner{Free: true}, ""},
		{&OtherOwner{Owner: somebody}, " since "},
		{&OtherOwner{Owner: owner.ID{Label: "importer"}}, ""},
		{&OtherOwner{}, ""},
		{fmt.Errorf("%w: %w", renewal.ErrNotOwner, ErrWrongType), ": "},
		{late(redisconn.ErrTimeout), ""},
		{late(errors.New("EOF")), ": "},
		{renewal.ErrExpired, ""},
		{renewal.ErrMaxHold, ""},
		{errLeaked, ""},
		{renewal.ErrClosed, ""},
	} {
		text := plainWords.lost("N", c.cause).Error()
		if c.upTo != "" {
			before, _, _ := strings.Cut(text, c.upTo)
			text = before + c.upTo
		}
		if !strings.Contains(string(page), "| `"+text) {
			t.Errorf("docs/operating.md does not explain the loss %q", text)
		}
	}
}
