package store

// The queries whose cost must not grow with the tables.
const (
	StockSQL   = stockSQL
	SpanSQL    = spanSQL
	HistorySQL = historySQL
)
