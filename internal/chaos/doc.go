// Package chaos holds one test: it applies a mixed configuration again and again,
// under random faults and kills, while others do as they like in Proxmox VE. They
// migrate, copy, destroy and protect guests, use ids anew, empty notes, and take
// rights, nodes and storages away. After each round it checks that no guest of others
// was touched, none of ours was lost or doubled, no volume was lost and no secret
// told. When the trouble ends, a few more applies have to leave an empty plan, and a
// destruction nothing.
//
// CHAOS_SECONDS is how long it goes on, CHAOS_SEED which random numbers it draws: the
// same rounds, though not to the millisecond. A trial that fails writes its rounds,
// and the last one's output and requests, to a file that it names.
package chaos
