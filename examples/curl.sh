#!/bin/sh
# A chat, streamed as it is generated. -N shows each event at once.
url="${CHAIRLIFT_URL:-http://127.0.0.1:8000}"

curl -N --fail-with-body "$url/v1/chat/completions" \
  -H "authorization: Bearer ${CHAIRLIFT_CLIENT_API_KEY:-none}" \
  -H 'content-type: application/json' \
  -d '{
    "messages": [{ "role": "user", "content": "What is 23 + 45?" }],
    "stream": true,
    "stream_options": { "include_usage": true }
  }'
