package pvelab

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// admin is the lab's own HTTP endpoint, apart from PVE's API: faults, counters.
// It listens on the loopback only and asks for its token as a bearer.
type admin struct {
	lab      *Lab
	token    string
	listener net.Listener
	http     *http.Server
}

func newAdmin(l *Lab) *admin {
	a := &admin{lab: l, token: rand.Text()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counters", a.counters)
	mux.HandleFunc("DELETE /counters", a.resetCounters)
	mux.HandleFunc("POST /faults", a.addFault)
	mux.HandleFunc("POST /task-faults", a.addTaskFault)
	mux.HandleFunc("GET /faults/{id}", a.hits)
	mux.HandleFunc("POST /faults/{id}/release", a.release)
	mux.HandleFunc("DELETE /faults/{id}", a.removeFault)
	mux.HandleFunc("DELETE /faults", a.clearFaults)
	mux.HandleFunc("PUT /nodes/{node}", a.setNode)
	mux.HandleFunc("PUT /storages/{storage}", a.setStorage)
	mux.HandleFunc("PUT /guests/{id}", a.setGuest)
	mux.HandleFunc("PUT /replication/{id}", a.setReplication)
	mux.HandleFunc("PUT /ha", a.setHA)
	mux.HandleFunc("PUT /clock", a.setClock)
	mux.HandleFunc("POST /expire-tickets", a.expireTickets)
	a.http = &http.Server{Handler: a.guarded(mux), ReadHeaderTimeout: idleTimeout}
	return a
}

// AdminURL is the base of the lab's own endpoint.
func (l *Lab) AdminURL() string { return "http://" + l.server.admin.listener.Addr().String() }

// AdminToken is the bearer token of the lab's own endpoint.
func (l *Lab) AdminToken() string { return l.server.admin.token }

func (a *admin) start() error {
	l, err := (&net.ListenConfig{}).Listen(a.lab.server.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("admin endpoint: %w", err)
	}
	a.listener = l
	a.lab.server.wg.Go(func() { _ = a.http.Serve(l) })
	return nil
}

func (a *admin) close() error {
	err := a.http.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (a *admin) guarded(next http.Handler) http.Handler {
	want := []byte("Bearer " + a.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "the admin token is missing", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func reply(w http.ResponseWriter, value any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

func (a *admin) counters(w http.ResponseWriter, _ *http.Request) {
	reply(w, a.lab.counter.Snapshot(), nil)
}

func (a *admin) resetCounters(w http.ResponseWriter, _ *http.Request) {
	a.lab.counter.Reset()
	w.WriteHeader(http.StatusNoContent)
}

// duration reads "1.5s" from JSON.
type duration time.Duration

// UnmarshalText parses Go's notation.
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err
}

func (a *admin) addFault(w http.ResponseWriter, r *http.Request) {
	body := struct {
		Fault
		Delay duration `json:"delay"`
	}{}
	err := decodeStrict(r, &body)
	if err != nil {
		reply(w, nil, err)
		return
	}
	body.Fault.Delay = time.Duration(body.Delay)
	id, err := a.lab.faults.Add(body.Fault)
	reply(w, map[string]int{"id": id}, err)
}

func (a *admin) addTaskFault(w http.ResponseWriter, r *http.Request) {
	body := TaskFault{}
	if err := decodeStrict(r, &body); err != nil {
		reply(w, nil, err)
		return
	}
	id, err := a.lab.faults.AddTask(body)
	reply(w, map[string]int{"id": id}, err)
}

func decodeStrict(r *http.Request, into any) error {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// numbered runs an action with the number in the path, of a fault or a guest.
func numbered(w http.ResponseWriter, r *http.Request, act func(id int)) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		reply(w, nil, fmt.Errorf("number in the path: %w", err))
		return
	}
	act(id)
}

func (a *admin) hits(w http.ResponseWriter, r *http.Request) {
	numbered(w, r, func(id int) {
		reply(w, map[string]any{"hits": a.lab.faults.Hits(id), "reached": a.lab.faults.isReached(id)}, nil)
	})
}

func (a *admin) release(w http.ResponseWriter, r *http.Request) {
	numbered(w, r, func(id int) {
		a.lab.faults.Release(id)
		w.WriteHeader(http.StatusNoContent)
	})
}

func (a *admin) removeFault(w http.ResponseWriter, r *http.Request) {
	numbered(w, r, func(id int) {
		a.lab.faults.Remove(id)
		w.WriteHeader(http.StatusNoContent)
	})
}

func (a *admin) clearFaults(w http.ResponseWriter, _ *http.Request) {
	a.lab.faults.Clear()
	w.WriteHeader(http.StatusNoContent)
}

func (a *admin) setNode(w http.ResponseWriter, r *http.Request) {
	body := struct {
		Online bool `json:"online"`
	}{}
	err := decodeStrict(r, &body)
	if err == nil {
		err = a.lab.faults.setOnline(r.PathValue("node"), body.Online)
	}
	reply(w, map[string]bool{"online": body.Online}, err)
}

func (a *admin) setStorage(w http.ResponseWriter, r *http.Request) {
	body := struct {
		Full *bool `json:"full"`
		Away *bool `json:"away"`
	}{}
	err := decodeStrict(r, &body)
	if err == nil && body.Full != nil {
		a.lab.faults.FillStorage(r.PathValue("storage"), *body.Full)
	}
	if err == nil && body.Away != nil {
		a.lab.faults.StorageAway(r.PathValue("storage"), *body.Away)
	}
	reply(w, body, err)
}

func (a *admin) setGuest(w http.ResponseWriter, r *http.Request) {
	numbered(w, r, func(vmid int) {
		body := struct {
			IgnoreShutdown *bool   `json:"ignore_shutdown"`
			MuteAgent      *bool   `json:"mute_agent"`
			HoldMedia      *bool   `json:"hold_media"`
			Unlock         bool    `json:"unlock"`
			CloudInitError *string `json:"cloud_init_error"`

			Services map[string]string `json:"services"`
		}{}
		err := decodeStrict(r, &body)
		if err == nil && body.IgnoreShutdown != nil {
			a.lab.faults.IgnoreShutdown(vmid, *body.IgnoreShutdown)
		}
		if err == nil && body.MuteAgent != nil {
			a.lab.faults.MuteAgent(vmid, *body.MuteAgent)
		}
		if err == nil && body.HoldMedia != nil {
			a.lab.faults.HoldMedia(vmid, *body.HoldMedia)
		}
		if err == nil && body.Unlock {
			a.lab.faults.Unlock(vmid)
		}
		if err == nil && body.CloudInitError != nil {
			a.lab.faults.FailCloudInit(vmid, *body.CloudInitError)
		}
		for unit, state := range body.Services {
			a.lab.faults.SetService(vmid, unit, state)
		}
		reply(w, body, err)
	})
}

func (a *admin) setReplication(w http.ResponseWriter, r *http.Request) {
	body := struct {
		Fail *string  `json:"fail"`
		Age  duration `json:"age"`
	}{}
	err := decodeStrict(r, &body)
	if err == nil && body.Fail != nil {
		a.lab.faults.FailReplication(r.PathValue("id"), *body.Fail)
	}
	if err == nil && body.Age != 0 {
		err = a.lab.faults.AgeReplication(r.PathValue("id"), time.Duration(body.Age))
	}
	reply(w, map[string]string{"id": r.PathValue("id")}, err)
}

func (a *admin) setHA(w http.ResponseWriter, r *http.Request) {
	body := struct {
		Hangs bool `json:"hangs"`
	}{}
	err := decodeStrict(r, &body)
	if err == nil {
		a.lab.faults.HangHA(body.Hangs)
	}
	reply(w, body, err)
}

func (a *admin) setClock(w http.ResponseWriter, r *http.Request) {
	body := struct {
		Skew duration `json:"skew"`
	}{}
	err := decodeStrict(r, &body)
	if err == nil {
		a.lab.faults.SkewClock(time.Duration(body.Skew))
	}
	reply(w, map[string]string{"skew": time.Duration(body.Skew).String()}, err)
}

func (a *admin) expireTickets(w http.ResponseWriter, _ *http.Request) {
	reply(w, map[string]bool{"expired": true}, a.lab.faults.ExpireTickets())
}
