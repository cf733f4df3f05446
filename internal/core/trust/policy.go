package trust

import (
	"slices"
	"strings"
)

// Policy is the `trust` section of patra.yaml: what references of source and
// events files may do on this machine.
type Policy struct {
	Commands    []string         `json:"commands,omitempty" doc:"commands that exec: may run, each a whole command line; * stands for one word that does not begin with -"`
	Folders     []string         `json:"folders,omitempty" doc:"folders below which file: may read, as absolute paths; /run/secrets and $CREDENTIALS_DIRECTORY are always allowed"`
	Environment []string         `json:"environment,omitempty" doc:"variables that commands get beside PATH, HOME, USER, LANG and a few others"`
	Secrets     map[string][]Ref `json:"secrets,omitempty" doc:"references that may be sent, by the host they go to; records:SOURCE/ENDPOINT are stored records"`
}

// AllowsCommand reports that the installation lists a command line. Words are
// compared one by one, as the command is run without a shell.
func (p Policy) AllowsCommand(line string) bool {
	words := strings.Fields(line)
	return slices.ContainsFunc(p.Commands, func(allowed string) bool {
		return slices.EqualFunc(strings.Fields(allowed), words, func(pattern, word string) bool {
			return pattern == word || pattern == anyWord && !strings.HasPrefix(word, "-")
		})
	})
}

// anyWord stands for one word of a command. An option is never meant by it: it
// could make another command of it.
const anyWord = "*"

// Allows reports that the installation lists a use.
func (p Policy) Allows(u Use) bool { return slices.Contains(p.Secrets[u.Host], u.Ref) }

// UsualFolder holds the secrets of containers.
const UsualFolder = "/run/secrets"

// UsualEnvironment returns what a command gets of our environment: enough to
// find programs, a home and a language, and nothing that may be a secret.
func UsualEnvironment() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "SYSTEMROOT"}
}
