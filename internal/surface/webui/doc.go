// Package webui is the dashboard: pages that the server renders, one stylesheet and one
// small module of script. Every page works without script, and its address holds all of
// its state, so that it can be sent to somebody else.
//
// It decides nothing. What it shows comes as values of core/view through small readers that
// daemon fills from engine/inspect and engine/operate, and in the sentences of core/wording.
// A page is one file with its handler, one template, and one row in the table of routes.
package webui
