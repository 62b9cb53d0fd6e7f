// Tool calls: the model asks for a function, this program calls it, and the model answers with what it gave.
import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: `${process.env.CHAIRLIFT_URL ?? 'http://127.0.0.1:8000'}/v1`,
  apiKey: process.env.CHAIRLIFT_CLIENT_API_KEY ?? 'none',
});
const model = process.env.CHAIRLIFT_CLIENT_MODEL ?? 'summit';

const weather = { Paris: 'sunny, 24 degrees', London: 'rain, 12 degrees' };

const tools = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather in a city.',
      // The arguments follow the schema: a city that is not listed can't be asked for.
      strict: true,
      parameters: {
        type: 'object',
        properties: { city: { type: 'string', enum: Object.keys(weather) } },
        required: ['city'],
        additionalProperties: false,
      },
    },
  },
];

const messages = [{ role: 'user', content: 'What is the weather in Paris?' }];
const first = await client.chat.completions.create({
  model,
  messages,
  tools,
  tool_choice: 'required',
  temperature: 0,
});
const { message } = first.choices[0];
messages.push(message);

for (const call of message.tool_calls ?? []) {
  const { city } = JSON.parse(call.function.arguments);
  console.log(`${call.function.name}(${city})`);
  messages.push({ role: 'tool', tool_call_id: call.id, content: weather[city] });
}

const second = await client.chat.completions.create({ model, messages, tools, temperature: 0 });
console.log(second.choices[0].message.content);
