module github.com/holdfast-go/holdfast

go 1.25.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/anishathalye/porcupine v1.3.1
	github.com/gomodule/redigo v1.9.3
	github.com/oklog/ulid/v2 v2.1.2
	go.uber.org/goleak v1.3.0
)

require (
	github.com/stretchr/testify v1.10.0 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
)
