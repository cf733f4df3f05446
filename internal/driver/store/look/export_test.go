package look

// PageOf selects the ids of a page of a list.
var PageOf = pageOf
