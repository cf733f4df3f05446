package kernel

// MaxTries is how often a step is tried.
const MaxTries = maxTries
