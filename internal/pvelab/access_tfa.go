package pvelab

import "net/url"

// SecondFactor gives a user a second factor, or takes it away. The lab does not
// play the second step: what the first one gives is good for nothing.
func (f *Faults) SecondFactor(user string, wanted bool) {
	f.lab.mu.Lock()
	defer f.lab.mu.Unlock()
	f.lab.secondFactor[user] = wanted
}

// halfTicket is PVE's answer to the password of a user with a second factor: a
// ticket that holds the challenge, and no capabilities.
func halfTicket(l *Lab, user string) map[string]any {
	_, csrf := l.issueTicket(user)
	challenge := "PVE:!tfa!" + url.QueryEscape(`{"totp":true,"recovery":"available"}`)
	return map[string]any{
		"username": user, "ticket": challenge + "::" + l.ticketKey.sign(challenge), "CSRFPreventionToken": csrf, "NeedTFA": 1,
	}
}

// SetPassword gives a user a password. It does nothing for an unknown user.
func (l *Lab) SetPassword(user, password string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u := l.access.users[user]; u != nil {
		u.password = password
	}
}
