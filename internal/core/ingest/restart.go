package ingest

// UsualRestarts is how often a slice may be started over without anybody being
// told to look: an answer is lost now and then. A slice that starts over more often
// and is not read yet may never be, and each pass costs the upstream all its pages.
const UsualRestarts = 2
