// Package faultproxy stands between a client and its Redis and does to their bytes what networks
// and dying machines do. Tests switch its faults while it runs:
//
//	p := faultproxy.Start(t, server.Network(), server.Addr())
//	client := dial(p.URL())
//	p.Set(faultproxy.ToServer, faultproxy.Drop, "BLPOP") // on connections that sent a BLPOP
//	caught := p.Catch(faultproxy.CutReply, "EVALSHA", "lock:x")
//	...
//	<-caught.Done() // such a command was executed, and its reply is lost with its connection
//	p.Heal()
//
// It knows where one command ends and the next begins, so what goes to the server is held, dropped
// or cut by whole commands; replies are bytes.
package faultproxy
