// Many requests over one WebSocket, each known by an id of our choice. Browsers have a WebSocket of their
// own, which sends no headers: there the key is a subprotocol (docs/api.md).
import { WebSocket } from 'ws';

const url = process.env.CHAIRLIFT_URL ?? 'http://127.0.0.1:8000';
const key = process.env.CHAIRLIFT_CLIENT_API_KEY ?? 'none';
const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/chat/completions`, {
  headers: { authorization: `Bearer ${key}` },
});

const questions = new Map([
  ['sum', 'What is 23 + 45?'],
  ['fox', 'Tell me a story about a fox.'],
  ['rain', 'Tell me a story about rain.'],
]);
const answers = new Map([...questions.keys()].map((id) => [id, '']));

socket.addEventListener('open', () => {
  for (const [id, content] of questions) {
    const body = { messages: [{ role: 'user', content }], max_tokens: 60, stream: true };
    socket.send(JSON.stringify({ request_id: id, ...body }));
  }
});

socket.addEventListener('message', ({ data }) => {
  const frame = JSON.parse(data);
  const id = frame.request_id;
  if (frame.error) console.error(`${id}: ${frame.error.message}`);
  const text = frame.choices?.[0]?.delta?.content ?? '';
  answers.set(id, answers.get(id) + text);
  if (frame.type !== 'done') return;
  console.log(`${id}: ${answers.get(id)}\n`);
  questions.delete(id);
  if (questions.size === 0) socket.close();
});

socket.addEventListener('error', ({ message }) => {
  console.error(message);
  process.exitCode = 1;
});
