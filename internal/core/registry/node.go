package registry

import "strconv"

// node is a value of a file before it is held against a type: neutral between
// YAML text and stored JSON.
type node struct {
	at      Position
	what    content
	text    string // of a scalar, as written
	entries []entry
	items   []*node
	deep    int // height of the tree below, to refuse it before walking it
	size    int // nodes of the tree, aliases counted as often as they are used
}

type entry struct {
	key   string
	at    Position
	value *node
}

type content int

const (
	nothing content = iota
	boolean
	number
	words // text
	keys  // a mapping
	items // a list
)

// describeFound says in words what was found.
func (n *node) describeFound() string {
	switch n.what {
	case nothing:
		return "nothing"
	case boolean, number:
		return n.text
	case words:
		return "text " + strconv.Quote(shortenText(n.text))
	case keys:
		return "a mapping"
	default:
		return "a list"
	}
}

func shortenText(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// measureSize computes the size of a node once its children are in place. Sizes are
// capped, so that an alias bomb cannot overflow the counter.
func (n *node) measureSize() *node {
	n.size = 1
	add := func(child *node) {
		n.deep = max(n.deep, child.deep+1)
		n.size = min(n.size+child.size, maxNodes+1)
	}
	for _, e := range n.entries {
		add(e.value)
	}
	for _, item := range n.items {
		add(item)
	}
	return n
}
