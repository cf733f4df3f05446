package exchange

import (
	"net/url"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	const canary = "hunter2"
	at, err := url.Parse("https://me:" + canary + "@api.example.org/works?rows=5&api_key=" + canary + "&cursor=a%2Fb&resumptionToken=next&query_key=1&x=&flag")
	if err != nil {
		t.Fatal(err)
	}
	header := Header{}
	header.Set("Accept", "application/json")
	header.Set("authorization", "Bearer "+canary)
	header.Set("X-Api-Key", canary)
	header.Set("Cookie", canary)
	header.Set("Content-Type", typeForm)
	request := &Request{Method: "POST", URL: at, Header: header, Body: []byte("a=1&password=" + canary + "&%zz=" + canary)}
	want := `POST https://api.example.org/works?rows=5&api_key=***&cursor=a%2Fb&resumptionToken=next&query_key=1&x=&flag
Accept: application/json
Authorization: ***
Content-Type: application/x-www-form-urlencoded
Cookie: ***
X-Api-Key: ***

a=1&password=***&%zz=***
`
	if got := request.Describe(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	digest := DigestRequest(request)
	if strings.Contains(digest.URL+digest.Body, canary) || !strings.Contains(digest.URL, "rows=5") || !strings.HasPrefix(digest.Body, "a=1&") {
		t.Errorf("%+v", digest)
	}
}

func TestDescribeMasksMembers(t *testing.T) {
	for body, want := range map[string]string{
		`{"q":"key","apiKey":"hunter2","n":12345678901234567890}`:              `{"q":"key","apiKey":"***","n":12345678901234567890}`,
		`{"auth":{"user":"hunter2"},"list":[{"client_secret":["x"]},"token"]}`: `{"auth":"***","list":[{"client_secret":"***"},"token"]}`,
		`["password","hunter2"]`:          `["password","hunter2"]`,
		`{"password":"hunter2`:            "***",
		`{"password":"hunter2"} {"a":1}x`: "***",
	} {
		request := &Request{Method: "POST", URL: &url.URL{Scheme: "https", Host: "h"}, Header: Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
		if got := request.Describe(); got != "POST https://h\nContent-Type: application/json\n\n"+want+"\n" {
			t.Errorf("%s is shown as %s", body, got)
		}
	}
}

func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		"api_key": true, "apikey": true, "apiKey": true, "API-KEY": true, "key": true, "x-els-apikey": true, "X-ELS-Insttoken": true,
		"access_token": true, "token": true, "client_secret": true, "password": true, "Authorization": true, "sig": true, "X-Auth-Token": true,
		"X-Auth": true, "Ocp-Apim-Subscription-Key": true, "apiToken": true, "accesstoken": true, "clientsecret": true,
		"keyword": false, "keywords": false, "monkey": false, "resumptionToken": false, "page_token": false, "nextToken": false,
		"query_key": false, "WebEnv": false, "cursor": false, "rows": false, "author": false, "mailto": false, "": false,
	} {
		if got := SecretName(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
