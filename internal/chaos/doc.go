// Package chaos holds one test: it applies a mixed configuration again and again,
// under random faults and kills, and checks after each that no guest of others was
// touched, none of ours was lost or doubled, and no volume was lost. When the trouble
// ends, one more apply has to leave an empty plan.
//
// CHAOS_SECONDS is how long it goes on, CHAOS_SEED which random numbers it draws.
package chaos
