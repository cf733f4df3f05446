package upsim

// The vocabulary of the simulated works. All of it is invented.

func topicWords() []string {
	return []string{
		"Drift of tidal sediments under seasonal load",
		"A lattice model for slow annealing",
		"Étude des forêts côtières après l’incendie",
		"Über die Messung kleiner Strömungen",
		"Влияние ветра на рост лишайников",
		"高山植物の開花時期に関する観察",
		"دراسة في ملوحة المياه الجوفية",
		"Counting owls 🦉 by their calls",
		"The \"quiet hour\" effect in ward rosters",
		"Cost/benefit of early grafting in Prunus",
		"Ångström-scale wear & polish of α-quartz",
		"Polymer 🧬 repair: a back\\slash in notation",
		"Notes on <i>in situ</i> drying of clay",
		"Sur l’équilibre des marchés à terme",
		"한국 하천의 계절별 수온 변화",
		"Memory use of long chains of small jobs",
	}
}

func qualifierWords() []string {
	return []string{"a field study", "a pilot trial", "ten years on", "a short review", "the northern sites", "a replication", "methods and limits", "an open question"}
}

func familyNames() []string {
	return []string{"Okonkwo", "Lindqvist", "Šimůnek", "Nakagawa", "O’Hara", "Ferreira", "Müller", "Иванова", "Haddad", "van der Berg", "Nguyễn", "Castaño"}
}

func givenNames() []string {
	return []string{"Ada", "Björn", "Chidi", "Dana", "Elif", "Føroya", "Grace", "Hiro", "Inés", "J. K."}
}

func publisherNames() []string {
	return []string{"Harbour Press", "Société des Essais", "Ninefold Publishing", "Lakeside University Press", "Verlag am Steg", "Open Quay"}
}

func containerNames() []string {
	return []string{"Journal of Small Currents", "Annals of Slow Chemistry", "Cahiers de la Côte", "Proceedings of the Hill Society", "Zeitschrift für Randgebiete", "Letters in Plain Methods"}
}

func workTypes() []string {
	return []string{"journal-article", "journal-article", "journal-article", "book-chapter", "posted-content", "proceedings-article", "dataset", "peer-review"}
}

func badStamps() []string {
	return []string{"2024-02-31T25:61:00Z", "yesterday", "", "0000-00-00T00:00:00Z", "20240229 1200"}
}

// fillerSize is the length of the text from which abstracts are cut. It is small
// enough for gzip to find its own text again, which keeps packing quick.
const fillerSize = 4 << 10

// newFiller makes plain ASCII text that needs no escaping, so that an abstract
// is a copy of a range of it.
func newFiller(seed uint64) []byte {
	syllables := []string{"ra", "ne", "tol", "mi", "sur", "vek", "on", "pla", "di", "cus", "ber", "at", "li", "go", "sen", "hy"}
	chance := newStream(seed, 'f')
	text := make([]byte, 0, fillerSize+32)
	for len(text) < fillerSize {
		for range 2 + chance.numberBelow(3) {
			text = append(text, pickOne(&chance, syllables)...)
		}
		text = append(text, ' ')
	}
	return text[:fillerSize]
}
