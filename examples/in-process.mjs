// A model within a program, without a server; then a server within it. Ends by itself.
import { loadModel, serve } from 'chairlift';

const model = await loadModel('summit');
// Calls at once are batched continuously.
const answers = await Promise.all(
  ['What is 23 + 45?', 'What is 7 * 8?'].map((content) =>
    model.generate([{ role: 'user', content }], { temperature: 0 }),
  ),
);
console.log(answers);
const story = model.stream('Once upon a time', {
  maxTokens: 20,
  signal: AbortSignal.timeout(60_000),
});
for await (const { text } of story) process.stdout.write(text);
const [vector] = await model.embed(['snow']);
console.log(`\n${vector?.length} dimensions, ${(await model.tokenize('snow')).length} tokens`);
await model.close();

const server = await serve({ models: ['summit'], port: 0, logLevel: 'warn' });
const { status } = await fetch(`${server.url}/v1/models`);
console.log(`GET /v1/models: ${status}`);
await server.close();
