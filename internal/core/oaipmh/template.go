package oaipmh

import (
	"strconv"
	"strings"
)

// template is the file of a repository. Words in braces are filled in by FileFor.
const template = `# {code}: records of a repository over OAI-PMH, one per identifier.
#
# Made by ` + "`patra source new {code} --oai`" + ` from what the repository says about itself. Its
# formats: {formats}
# Look at it, change what you know better, and then:
#   patra source test {file}
#   patra source apply {file}

source: {code}
name: {name}

http:
  {address}
  headers:
    Accept: text/xml
  timeout: PT90S

rate:
  # Most repositories are small. One request a second, one at a time.
  perSecond: 1
  burst: 1
  concurrency: 1

retry:
  # 503 with Retry-After is how the protocol asks to wait.
  maxAttempts: 6
  initialDelay: PT3S
  maxDelay: PT120S

endpoints:
  records:
    role: SEARCH

{partitions}    request:
      path: {path}
      query:{extra}
        verb: ListRecords
        # The token stands for all other arguments: with it they are not allowed.
        metadataPrefix: ${if(page.token == '', {prefix}, '')}{set}
        from: ${if(page.token == '', filter.from, '')}
        until: ${if(page.token == '', filter.to, '')}
        resumptionToken: ${page.token}
{sets}

    filter:
      # When a record was made, changed or deleted in the repository; both ends are
      # selected. Days are understood everywhere, seconds only where granularity says so.
      field: datestamp
      precision: {precision}
      from: INCLUSIVE
      to: INCLUSIVE

    paging:
      type: TOKEN
      # The repository decides how many records a page has.
      size: 100
      fixedSize: true
      # A token may expire, and asking twice is not promised to give the same.
      replayable: false
      # The size of the list is optional and may be an estimate, says the protocol.
      expectTotal: false

    window:
      size: P1D
      # Records may be shown late behind their date.
      {window}
      safetyLag: PT1H

    slicing:
      strategy: TIME
      step: P1D

    response:
      format: XML
      items: $['OAI-PMH'].ListRecords.record
      id: $.header.identifier
      updatedAt: $.header.datestamp
      filtered: $.header.datestamp
      # {deletions}
      gone: ${jsonPath('$.header["@status"]') == 'deleted'}
      nextToken: $['OAI-PMH'].ListRecords.resumptionToken['#text']
      total: $['OAI-PMH'].ListRecords.resumptionToken['@completeListSize']
      # Nothing changed in the window, or the list ended on its last token.
      emptyWhen:
        - ${jsonPath('$["OAI-PMH"].error["@code"]') == 'noRecordsMatch'}
      # Every other error comes with status 200 as well.
      errorWhen:
        - $['OAI-PMH'].error
      fields:
        identifier: $.header.identifier
        datestamp: $.header.datestamp
        sets: $.header.setSpec[*]
{fields}
      maxRejectRate: 0.1
`

// fieldsOf are the fields of a format. Of one that we do not know all is in the payload of
// a record.
func fieldsOf(prefix string) string {
	if prefix != dublinCore {
		return "        # The item itself is always stored; name the fields of this format here, for example:\n        #   title: $.metadata.record.title"
	}
	return `        # Dublin Core repeats its elements freely, so each field is a list.
        titles: $.metadata.dc.title[*]
        creators: $.metadata.dc.creator[*]
        subjects: $.metadata.dc.subject[*]
        descriptions: $.metadata.dc.description[*]
        publishers: $.metadata.dc.publisher[*]
        dates: $.metadata.dc.date[*]
        types: $.metadata.dc.type[*]
        identifiers: $.metadata.dc.identifier[*]
        languages: $.metadata.dc.language[*]
        rights: $.metadata.dc.rights[*]`
}

// Endpoints of a probe, in the order in which they are asked.
const (
	Identify = "identify"
	Formats  = "formats"
	Sets     = "sets"
)

// ProbeFor is a source that asks a repository about itself. It is asked by the same chain
// as every source, so the same rules hold for where requests may go.
func ProbeFor(a Address, code string) string {
	out := "source: " + code + "\nname: probe\nhttp:\n  " + a.yaml() + "\n  timeout: PT60S\nrate: {perSecond: 1}\nendpoints:\n"
	for _, p := range []struct{ endpoint, verb, fields string }{
		{Identify, "Identify", `name: $.Identify.repositoryName
        version: $.Identify.protocolVersion
        earliest: $.Identify.earliestDatestamp
        granularity: $.Identify.granularity
        deleted: $.Identify.deletedRecord`},
		{Formats, "ListMetadataFormats", `prefixes: $.ListMetadataFormats.metadataFormat[*].metadataPrefix`},
		{Sets, "ListSets", `specs: $.ListSets.set[*].setSpec
        names: $.ListSets.set[*].setName
        token: $.ListSets.resumptionToken['#text']`},
	} {
		out += strings.NewReplacer("{endpoint}", p.endpoint, "{verb}", p.verb, "{path}", strconv.Quote(a.Path), "{extra}", a.extraQuery(), "{fields}", p.fields).Replace(probe)
	}
	return out
}

// probe is one question about a repository.
const probe = `  {endpoint}:
    role: SEARCH
    supports: [UPDATE]
    request:
      path: {path}
      query:{extra}
        verb: {verb}
    paging: {type: ONE}
    response:
      format: XML
      items: $['OAI-PMH']
      single: true
      id: $.responseDate
      errorWhen:
        - $['OAI-PMH'].error
      mustHave:
        - $['OAI-PMH'].{verb}
      fields:
        {fields}
`
