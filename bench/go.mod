module github.com/holdfast-go/holdfast/bench

go 1.25.0

require (
	github.com/gomodule/redigo v1.9.3
	github.com/holdfast-go/holdfast v0.0.0
)

require github.com/oklog/ulid/v2 v2.1.2 // indirect

replace github.com/holdfast-go/holdfast => ../
