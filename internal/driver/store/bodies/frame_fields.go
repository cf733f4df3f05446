package bodies

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/record"
)

// Most values of mapped fields are values of the item, byte for byte. A frame does not
// hold them again: it tells where they lie (decision 109). What it holds of the fields of
// a version is a recipe: the number of a shape, and one entry for each value. A shape is
// the text before, between and behind the values; it stands in the recipe that needs it
// first. A recipe needs no mapping to be read, and holds whatever fields are: where it is
// not known which values they have, they are one value that lies nowhere.

// copiedLeast is how long a value must be to be told by its place: a shorter one takes
// no more room than its place would.
const copiedLeast = 4

// mostShaped is how many values the shapes of a frame may have in all; fields beyond are
// one value each.
const mostShaped = 1 << 14

// fieldShape is what fields of several versions have in common.
type fieldShape struct {
	texts [][]byte // one before each value, one behind the last; only where recipes are read
	order []int    // of the values: that in which they lay in the item of the first version
}

// recipeWriter writes the recipes of the versions of one frame.
type recipeWriter struct {
	out    []byte
	shapes map[string]int
	known  []fieldShape
	shaped int           // values of all shapes
	apart  bool          // fields are taken as they are
	parts  []record.Part // of the fields at hand
	key    []byte        // the texts of the shape at hand
}

// writeRecipes returns the recipes of some versions. Parts count if all fields have them:
// a frame is made with them or without, and healing has to try no more than these two.
func writeRecipes(versions []Version, apart bool) []byte {
	w := recipeWriter{shapes: map[string]int{}, apart: apart}
	for i := range versions {
		v := &versions[i]
		w.apart = w.apart || len(v.Parts) == 0 && len(v.Fields) > len("{}")
	}
	for i := range versions {
		if v := &versions[i]; len(v.Fields) > 0 {
			w.add(v)
		}
	}
	return w.out
}

func (w *recipeWriter) add(v *Version) {
	w.setParts(v)
	shape := w.findShape(v.Fields)
	at := 0 // behind the last value that was copied
	for _, n := range shape.order {
		p := &w.parts[n]
		value := v.Fields[p.Begin:p.End]
		if p.Place < 0 {
			w.out = binary.AppendUvarint(w.out, uint64(len(value))<<1|1)
			w.out = append(w.out, value...)
			continue
		}
		w.out = binary.AppendUvarint(w.out, uint64(len(value))<<1)
		w.out = binary.AppendVarint(w.out, int64(int(p.Place)-at))
		at = int(p.Place) + len(value)
	}
}

// setParts takes the parts of fields as far as they are true. Parts that overlap or
// go beyond the fields are of other fields.
func (w *recipeWriter) setParts(v *Version) {
	if w.parts = w.parts[:0]; !w.apart {
		w.parts = append(w.parts, v.Parts...)
	}
	behind := int32(0)
	for i := range w.parts {
		p := &w.parts[i]
		if p.Begin < behind || p.End < p.Begin || int(p.End) > len(v.Fields) {
			w.parts = w.parts[:0]
			break
		}
		behind = p.End
		if value := v.Fields[p.Begin:p.End]; len(value) < copiedLeast || p.Place < 0 || int(p.Place) > len(v.Item) || !bytes.HasPrefix(v.Item[p.Place:], value) {
			p.Place = -1
		}
	}
	if len(w.parts) == 0 || w.shaped+len(w.parts) >= mostShaped {
		w.parts = append(w.parts[:0], record.Part{End: int32(len(v.Fields)), Place: -1})
	}
}

// findShape writes the number of the shape of some fields, and what it is if it is new.
func (w *recipeWriter) findShape(fields []byte) *fieldShape {
	key, begin := w.key[:0], int32(0)
	for _, p := range w.parts {
		key = appendText(key, fields[begin:p.Begin])
		begin = p.End
	}
	key = appendText(key, fields[begin:])
	w.key = key
	number, known := w.shapes[string(key)]
	if !known {
		number = len(w.known)
		w.shapes[string(key)] = number
	}
	w.out = binary.AppendUvarint(w.out, uint64(number))
	if known {
		return &w.known[number]
	}
	shape := fieldShape{order: make([]int, len(w.parts))}
	for i := range shape.order {
		shape.order[i] = i
	}
	slices.SortStableFunc(shape.order, func(a, b int) int { return cmp.Compare(w.parts[a].Place, w.parts[b].Place) })
	w.out = binary.AppendUvarint(w.out, uint64(len(shape.order)))
	w.out = append(w.out, key...)
	for _, n := range shape.order {
		w.out = binary.AppendUvarint(w.out, uint64(n))
	}
	w.known, w.shaped = append(w.known, shape), w.shaped+len(shape.order)
	return &w.known[number]
}

func appendText(dst, text []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

var errRecipes = errors.New("the recipes of its fields are not what a program writes")

// readRecipes gives versions their fields, and the parts of them if they are to be packed
// again. No more memory is asked for than the table tells of, and no number is believed
// before it was held against the bytes that are there.
func (t *frameTable) readRecipes(recipes []byte, versions []Version, again bool) error {
	size := 0
	for i := range t.entries {
		size += t.entries[i].fields
	}
	r := recipeReader{tableReader: tableReader{rest: recipes}, out: make([]byte, 0, size)}
	for i := range t.entries {
		if t.entries[i].fields == 0 {
			continue
		}
		begin, v := len(r.out), &versions[i]
		r.most = begin + t.entries[i].fields
		values := r.read(v.Item)
		if r.err != nil || len(r.out) != r.most {
			return fmt.Errorf("%w: those of entry %d", errRecipes, i)
		}
		v.Fields = r.out[begin:r.most:r.most]
		if again {
			v.Parts = slices.Clone(r.parts[:values])
		}
	}
	if len(r.rest) > 0 {
		return fmt.Errorf("%w: %d bytes are left", errRecipes, len(r.rest))
	}
	return nil
}

// readRecipe returns the fields of one entry. Recipes before it are read, because shapes stand in
// them, but no fields are made of them.
func (t *frameTable) readRecipe(plain []byte, entry int) ([]byte, error) {
	r := recipeReader{tableReader: tableReader{rest: plain[t.behind:]}, out: make([]byte, 0, t.entries[entry].fields), most: t.entries[entry].fields}
	for i := range t.entries[:entry+1] {
		e := &t.entries[i]
		if e.fields == 0 {
			continue
		}
		item := plain[e.begin : e.begin+e.item]
		if i < entry {
			r.takeValues(item)
		} else {
			r.read(item)
		}
		if r.err != nil {
			return nil, fmt.Errorf("%w: those of entry %d", errRecipes, i)
		}
	}
	if len(r.out) != r.most {
		return nil, fmt.Errorf("%w: those of entry %d", errRecipes, entry)
	}
	return r.out, nil
}

// recipeReader writes fields from recipes.
type recipeReader struct {
	tableReader
	shapes []fieldShape
	shaped int // values of all shapes
	values [][]byte
	parts  []record.Part
	out    []byte
	most   int // that out may have
}

// read writes the fields of the next recipe, and returns how many values they have.
func (r *recipeReader) read(item []byte) (values int) {
	shape := r.takeValues(item)
	if r.err != nil {
		return 0
	}
	begin := len(r.out)
	for n, text := range shape.texts {
		r.add(text)
		if n < len(shape.order) {
			r.parts[n].Begin = int32(len(r.out) - begin)
			r.add(r.values[n])
			r.parts[n].End = int32(len(r.out) - begin)
		}
	}
	return len(shape.order)
}

// takeValues reads the next recipe: its shape, and the values that stand in it.
func (r *recipeReader) takeValues(item []byte) *fieldShape {
	shape := r.takeShape()
	if r.err != nil {
		return nil
	}
	at := 0
	for _, n := range shape.order {
		mark := r.takeUvarint()
		if mark>>1 > FrameMost {
			r.err = errRecipes
			return nil
		}
		length := int(mark >> 1)
		if mark&1 == 1 {
			r.values[n], r.parts[n].Place = r.take(length), -1
			continue
		}
		at += int(r.takeVarint())
		if at < 0 || at > len(item) || length > len(item)-at {
			r.err = errRecipes
			return nil
		}
		r.values[n], r.parts[n].Place = item[at:at+length], int32(at)
		at += length
	}
	return shape
}

func (r *recipeReader) add(text []byte) {
	if len(text) > r.most-len(r.out) && r.err == nil {
		r.err = errRecipes
	}
	if r.err == nil {
		r.out = append(r.out, text...)
	}
}

func (r *recipeReader) takeShape() *fieldShape {
	number := r.takeLength()
	if number < len(r.shapes) {
		return &r.shapes[number]
	}
	count := r.takeLength()
	if r.shaped += count; r.err == nil && (number > len(r.shapes) || r.shaped > mostShaped) {
		r.err = errRecipes
	}
	if r.err != nil {
		return nil
	}
	shape := fieldShape{texts: make([][]byte, count+1), order: make([]int, count)}
	for i := range shape.texts {
		shape.texts[i] = r.take(r.takeLength())
	}
	seen := make([]bool, count)
	for i := range shape.order {
		n := r.takeLength()
		if r.err == nil && (n >= count || seen[n]) {
			r.err = errRecipes
		}
		if r.err != nil {
			return nil
		}
		shape.order[i], seen[n] = n, true
	}
	r.shapes = append(r.shapes, shape)
	if count > len(r.values) {
		r.values, r.parts = make([][]byte, count), make([]record.Part, count)
	}
	return &r.shapes[number]
}
