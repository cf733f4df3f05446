package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
)

// bodyOf shapes a message for whoever reads it.
func bodyOf(shape string, m alert.Message) any {
	switch shape {
	case alert.Slack:
		return slackBody{Text: escapeSlack.Replace(alert.Text(m))}
	case alert.DingTalk:
		return dingTalkBody{Type: "text", Text: dingTalkText{alert.Text(m)}}
	case alert.Feishu:
		return newFeishuBody(m)
	}
	return m
}

type slackBody struct {
	Text string `json:"text"`
}

// escapeSlack takes the meaning from the characters that call people and make links:
// part of a message are words of upstreams.
var escapeSlack = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

type dingTalkBody struct {
	Type string       `json:"msgtype"`
	Text dingTalkText `json:"text"`
}

type dingTalkText struct {
	Content string `json:"content"`
}

// feishuBody is a post: tags in its lines call nobody, as those of a plain text would.
type feishuBody struct {
	Timestamp string        `json:"timestamp,omitempty"`
	Sign      string        `json:"sign,omitempty"`
	Type      string        `json:"msg_type"`
	Content   feishuContent `json:"content"`
}

type feishuContent struct {
	Post map[string]feishuPost `json:"post"`
}

type feishuPost struct {
	Title   string         `json:"title"`
	Content [][]feishuLine `json:"content"`
}

type feishuLine struct {
	Tag  string `json:"tag"`
	Text string `json:"text"`
}

func newFeishuBody(m alert.Message) feishuBody {
	title, rest, _ := strings.Cut(alert.Text(m), "\n")
	post := feishuPost{Title: title}
	for line := range strings.SplitSeq(strings.TrimSpace(rest), "\n") {
		post.Content = append(post.Content, []feishuLine{{"text", line}})
	}
	return feishuBody{Type: "post", Content: feishuContent{map[string]feishuPost{"en_us": post}}}
}

// signDingTalk adds the signature of a robot: of the milliseconds and the secret, with
// the secret as key.
func signDingTalk(query url.Values, secret string, now time.Time) {
	stamp := strconv.FormatInt(now.UnixMilli(), 10)
	query.Set("timestamp", stamp)
	query.Set("sign", hashWith(secret, stamp+"\n"+secret))
}

// signFeishu adds the signature of a robot: of nothing, with the seconds and the secret
// as key.
func signFeishu(body []byte, secret string, now time.Time) ([]byte, error) {
	var b feishuBody
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, errors.New("the message cannot be signed")
	}
	b.Timestamp = strconv.FormatInt(now.Unix(), 10)
	b.Sign = hashWith(b.Timestamp+"\n"+secret, "")
	return json.Marshal(b)
}

func hashWith(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// passing are codes of DingTalk and Feishu that ask for patience: the robot writes too
// often, or the service is busy.
var passing = []int64{-1, 130101, 410100, 9499, 11232}

// judgeAnswer reads what DingTalk and Feishu say with status 200, also when they did not
// take the message. Of their words only the number is passed on.
func judgeAnswer(shape string, said []byte) error {
	if shape != alert.DingTalk && shape != alert.Feishu {
		return nil
	}
	var answer struct {
		ErrCode    *int64 `json:"errcode"`    // DingTalk
		Code       *int64 `json:"code"`       // Feishu
		StatusCode *int64 `json:"StatusCode"` // Feishu before 2022
	}
	if json.Unmarshal(said, &answer) != nil || answer.ErrCode == nil && answer.Code == nil && answer.StatusCode == nil {
		return errors.New("the answer does not say whether the message was taken")
	}
	for _, code := range []*int64{answer.ErrCode, answer.Code, answer.StatusCode} {
		switch {
		case code == nil || *code == 0:
		case slices.Contains(passing, *code):
			return fmt.Errorf("the receiver answers with code %d", *code)
		default:
			return fmt.Errorf("%w: code %d", alert.ErrRefused, *code)
		}
	}
	return nil
}
