package view

import (
	"encoding/json"
	"strconv"
	"testing"
)

func TestList(t *testing.T) {
	for _, c := range []struct {
		rows  []int
		limit int
		want  string
	}{
		{nil, 2, `{"items":[],"more":false,"next":null}`},
		{[]int{7}, 2, `{"items":[7],"more":false,"next":null}`},
		{[]int{7, 6}, 2, `{"items":[7,6],"more":false,"next":null}`},
		{[]int{7, 6, 5}, 2, `{"items":[7,6],"more":true,"next":"6"}`},
	} {
		if got, err := json.Marshal(Paged(c.rows, c.limit, strconv.Itoa)); err != nil || string(got) != c.want {
			t.Errorf("%v: %s, %v, want %s", c.rows, got, err, c.want)
		}
	}
}
