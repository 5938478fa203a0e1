package framework

import (
	"errors"
	"fmt"

	"terraform-provider-proxmox/internal/proxmox"
)

// signingIn explains why a user with a password is not let in. What kept the
// answer from coming is explained as it is for any other call.
func signingIn(err error) (explanation, bool) {
	var refused *proxmox.SignInError
	switch {
	case !errors.As(err, &refused):
		return explanation{}, false
	case refused.SecondFactor:
		return explanation{
			cause: "the account wants a second factor",
			said:  sentence(refused.Error()),
			remedy: fmt.Sprintf("Make a token, which needs none, for example `pveum user token add %s terraform`, and give it as token_id and token_secret.",
				refused.User),
		}, true
	case proxmox.IsUnauthorized(err):
		return explanation{
			cause: "the user or password is not accepted",
			said:  sentence(fmt.Sprintf("Proxmox VE does not let %s in", refused.User)),
			remedy: "Check the password, the realm after the @ (pam for the node's own users, pve for those made in Proxmox VE), and that the account is enabled " +
				"and has not expired. The password was tried once and is not tried again in this run.",
		}, true
	default:
		return explanation{}, false
	}
}
