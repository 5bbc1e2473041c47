package lock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/lock"
)

var (
	hookSets  = regexp.MustCompile(`(?s)\nSets ([^.]+)\.\n$`)
	fieldName = regexp.MustCompile(`\b[A-Z][a-z]+\b`)
)

// fieldsOf returns which fields of its Event each hook sets, as the hook's comment says.
func fieldsOf(t *testing.T) map[string][]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "hooks.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	event, fields := reflect.TypeFor[lock.Event](), make(map[string][]string)
	hooks := file.Scope.Lookup("Hooks").Decl.(*ast.TypeSpec).Type.(*ast.StructType)
	for _, f := range hooks.Fields.List {
		said := hookSets.FindStringSubmatch(f.Doc.Text())
		if said == nil {
			t.Fatalf("the comment of %s does not end with what it sets", f.Names[0])
		}
		var set []string
		for _, word := range fieldName.FindAllString(said[1], -1) {
			if _, ok := event.FieldByName(word); ok {
				set = append(set, word)
			}
		}
		fields[f.Names[0].Name] = set
	}
	return fields
}

// checkEvent fails the test if a hook was told of another event than its comment says.
func checkEvent(t *testing.T, hook string, e lock.Event) {
	t.Helper()
	may := fieldsOf(t)[hook]
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		name, set := v.Type().Field(i).Name, !v.Field(i).IsZero()
		switch said := slices.Contains(may, name); {
		case set && !said:
			t.Errorf("%s sets %s as well: %+v", hook, name, e)
		case set || !said || name == "Waited": // by a clock that may be coarse
		case hook == "Released" && name == "Err":
		default:
			t.Errorf("%s does not set %s: %+v", hook, name, e)
		}
	}
	if o := e.Owner; o.ID != "" || hook == "Acquired" && !reflect.DeepEqual(o, lock.Owner{Label: o.Label}) {
		t.Errorf("%s tells of the owner %+v", hook, o)
	}
}
