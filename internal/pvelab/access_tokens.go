package pvelab

func (l *Lab) routeTokens() {
	l.handle("GET", "/access/users/{userid}/token", tokenList)
	l.handle("GET", "/access/users/{userid}/token/{tokenid}", tokenRead)
	l.handle("POST", "/access/users/{userid}/token/{tokenid}", tokenCreate)
	l.handle("PUT", "/access/users/{userid}/token/{tokenid}", tokenUpdate)
	l.handle("DELETE", "/access/users/{userid}/token/{tokenid}", tokenDelete)
}

// asAPI shows what user.cfg holds of a token, never its secret.
func (t *token) asAPI() map[string]any {
	out := map[string]any{"expire": t.expire, "privsep": boolInt(t.privsep)}
	if t.comment != "" {
		out["comment"] = t.comment
	}
	return out
}

func (u *user) tokenList() []map[string]any {
	out := []map[string]any{}
	for _, name := range sortedKeys(u.tokens) {
		entry := u.tokens[name].asAPI()
		entry["tokenid"] = name
		out = append(out, entry)
	}
	return out
}

func tokenList(c *call) (any, error) {
	u, err := c.lab.userByID(c.params.str("userid"))
	if err != nil {
		return nil, err
	}
	return u.tokenList(), nil
}

// token finds the token that a call names.
func (c *call) token() (*user, *token, error) {
	u, err := c.lab.userByID(c.params.str("userid"))
	if err != nil {
		return nil, nil, err
	}
	name := c.params.str("tokenid")
	t := u.tokens[name]
	if t == nil {
		return u, nil, fail("no such token '%s' for user '%s'", name, u.id)
	}
	return u, t, nil
}

func tokenRead(c *call) (any, error) {
	_, t, err := c.token()
	if err != nil {
		return nil, err
	}
	return t.asAPI(), nil
}

func tokenCreate(c *call) (any, error) {
	u, err := c.lab.userByID(c.params.str("userid"))
	if err != nil {
		return nil, err
	}
	name := c.params.str("tokenid")
	if u.tokens[name] != nil {
		return nil, badParams(map[string]string{"tokenid": "Token already exists."})
	}
	t := &token{privsep: true, secret: newUUID()}
	u.tokens[name] = t
	t.change(c.params)
	info := t.sent(c.params)
	if !c.params.has("expire") {
		delete(info, "expire")
	}
	return map[string]any{"info": info, "value": t.secret, "full-tokenid": u.id + "!" + name}, nil
}

func tokenUpdate(c *call) (any, error) {
	u, t, err := c.token()
	if err != nil {
		return nil, err
	}
	for _, k := range c.params.list("delete") {
		if k != "comment" {
			return nil, fail("updating token info failed: 400 Parameter verification failed.\ndelete: unknown option '%s'\n", k)
		}
	}
	t.change(c.params)
	if len(c.params.list("delete")) > 0 {
		t.comment = ""
	}
	out := t.sent(c.params)
	if c.params.boolean("regenerate") {
		t.secret = newUUID()
		out["value"], out["full-tokenid"] = t.secret, u.id+"!"+c.params.str("tokenid")
	}
	return out, nil
}

func (t *token) change(p params) {
	if p.has("privsep") {
		t.privsep = p.boolean("privsep")
	}
	if p.has("expire") {
		t.expire = p.integer("expire")
	}
	if p.has("comment") {
		t.comment = p.str("comment")
	}
}

// sent is the token as PVE answers a change: what was sent is text, what was not
// is a number.
func (t *token) sent(p params) map[string]any {
	out := t.asAPI()
	for _, k := range []string{"privsep", "expire"} {
		if p.has(k) {
			out[k] = p.str(k)
		}
	}
	return out
}

func tokenDelete(c *call) (any, error) {
	u, _, err := c.token()
	if err != nil {
		return nil, err
	}
	name := c.params.str("tokenid")
	delete(u.tokens, name)
	// PVE ignores the rights of tokens that are not there when it reads user.cfg.
	c.lab.dropACL(func(e aclEntry) bool { return e.kind == "token" && e.id == u.id+"!"+name })
	return nothing(c)
}
