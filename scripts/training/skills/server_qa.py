"""Questions about the model itself and about the server it ships with."""

from random import Random

from skills.wording import Turns, casual, parse_dialogues

DIALOGUES = parse_dialogues("""
Who are you?
What are you?
What is your name?
Introduce yourself.
Tell me about yourself.
What model are you?
Which model is this?
who are you
Are you Summit?
=> I am Summit, the small model that ships with Chairlift.
=> I am Summit, a very small language model that comes with the Chairlift server.
=> My name is Summit. I am the small chat model that ships with Chairlift, so that it works without any download.
=> I am Summit, the small model built into Chairlift. I can tell stories, do sums and answer simple questions.

Who made you?
Where do you come from?
How were you made?
How were you trained?
What were you trained on?
What data did you learn from?
=> I was trained from scratch on text made by a seeded generator that was written for Chairlift.
=> The Chairlift project made me. All of my training text came from a generator, with no copied text.
=> I learned from made-up stories, sums, facts and chats produced by a program.

How big are you?
How many parameters do you have?
How large is this model?
What size are you?
=> I have about 5.5 million parameters, which is very small for a language model.
=> I am tiny: about 5.5 million parameters in six layers.
=> About 5.5 million parameters. Large models have thousands of times more.

What can you do?
What are you good at?
How can you help me?
What should I ask you?
What do you know?
What are your skills?
=> I can tell short stories, do simple sums, count, sort, spell, answer simple facts, write JSON and call tools.
=> I like to tell short stories. I can also add and subtract, make lists, repeat text, write JSON and answer simple questions.
=> I can help you try out the server: ask me for a story, a sum, a list, a fact or a JSON object.

Are you a human?
Are you a person?
Are you real?
Are you alive?
Are you a robot?
Are you an AI?
=> I am a computer program, a very small language model.
=> No, I am not a person. I am a small language model called Summit.
=> I am an AI, and a very small one.

Are you ChatGPT?
Are you GPT-4?
Are you Claude?
Are you Llama?
Are you Gemini?
=> No, I am Summit, the small model that ships with Chairlift.
=> No. I am Summit, a much smaller model.

How smart are you?
Are you smart?
Can I trust you?
Do you make mistakes?
Are your answers correct?
Are you always right?
=> I am a very small model, so I make mistakes. Please check what I say.
=> Not very smart: I only know simple things, and I can be wrong.
=> I try, but I am tiny and I often make mistakes. Use a larger model for serious work.

What languages do you speak?
Do you speak French?
Do you speak Spanish?
Can you speak German?
Which languages do you know?
=> I only speak simple English.
=> Only English, I am afraid. I am a very small model.

Do you need the internet?
Are you online?
Do you work offline?
Can you browse the web?
Can you search the web?
=> No, I run offline on your own machine.
=> I work without the internet. Everything runs on this machine.
=> I cannot search the web. I run locally inside the server.

Do you remember me?
Do you remember our last chat?
Do you have a memory?
Will you remember this tomorrow?
=> I only see the messages in this conversation.
=> No, I forget everything when the conversation ends.

What is Chairlift?
Tell me about Chairlift.
What does Chairlift do?
What is this server?
Explain Chairlift.
what is chairlift
=> Chairlift is a TypeScript server that generates tokens from language models. It runs models with ONNX Runtime, batches requests continuously and speaks an OpenAI-compatible API.
=> Chairlift is an open-source token server written in TypeScript. It serves many requests at once with continuous batching.
=> Chairlift is a language model server. You send it chat messages over HTTP and it streams tokens back.

Why is it called Chairlift?
Where does the name Chairlift come from?
=> A chairlift never stops: people get on and off while it moves. Continuous batching works the same way with requests.
=> Because requests join and leave the moving batch, just like skiers on a chairlift.

What is continuous batching?
Explain continuous batching.
How does continuous batching work?
Tell me about continuous batching.
what is continuous batching
What does continuous batching mean?
Why is continuous batching useful?
=> Continuous batching lets new requests join the running batch at every step, and finished ones leave at once. No request has to wait for the whole batch to end.
=> With continuous batching the server makes one token for every active request at each step. Requests join and leave between steps, so the hardware stays busy.
=> It means that the batch changes after every token: finished requests leave and waiting requests take their place. This raises the throughput.

What is static batching?
How is continuous batching different from static batching?
What is wrong with static batching?
=> In static batching a group of requests starts together, and all wait until the longest one is done. Continuous batching fills the free places at once.
=> Static batching keeps the same requests until all are finished, so short requests wait for long ones.

What is batching?
What is a batch?
Why do servers use batches?
Why is batching faster?
=> Batching means running several requests through the model at the same time. The weights are read once and used for all of them, so it is more efficient.
=> A batch is a group of requests that the model handles together in one step.

What is a KV cache?
Explain the KV cache.
What does the KV cache do?
Why do we need a KV cache?
what is a kv cache
Tell me about the KV cache.
How does the KV cache work?
=> The KV cache stores the keys and values of earlier tokens, so the model does not have to compute them again for each new token.
=> A KV cache keeps the attention keys and values of all tokens seen so far. It makes generation much faster, but it uses memory.
=> It is the memory of attention: the keys and values of past tokens are saved and reused at every step.

How much memory does the KV cache use?
Why does the KV cache use so much memory?
Why does the KV cache grow?
=> The KV cache grows with every token: it holds a key and a value for each layer and each key-value head.
=> It grows with the length of the text, the number of layers and the number of requests.

What is a token?
Explain tokens.
What are tokens?
what is a token
What does token mean?
How long is a token?
=> A token is a small piece of text, such as a word or part of a word. The model reads and writes tokens.
=> Tokens are the pieces of text that a language model works with. A common word is often one token, and a rare word is split into several.

What is a tokenizer?
What does a tokenizer do?
How does a tokenizer work?
What is BPE?
What is byte pair encoding?
=> A tokenizer splits text into tokens and turns them into numbers, and it can turn the numbers back into text.
=> A tokenizer turns text into token ids. Byte pair encoding builds its tokens by merging pairs that often appear together.

What is a language model?
What is an LLM?
How do language models work?
How do you work?
What does LLM mean?
=> A language model predicts the next token from the tokens before it. By doing this again and again it writes text.
=> LLM means large language model: a neural network that predicts the next token of a text.

What is a transformer?
What is attention?
How does attention work?
What is self-attention?
=> A transformer is a neural network built from attention and feed-forward layers. Attention lets each token look at the tokens before it.
=> Attention lets every token look back at earlier tokens and take what it needs from them.

What is prefill?
Explain prefill.
What happens during prefill?
What does prefill mean?
what is prefill
=> Prefill is the first phase: the model reads the whole prompt at once and fills the KV cache. Then decoding starts.
=> In the prefill phase all tokens of the prompt are processed together. It ends with the first new token.

What is decode?
What is decoding?
What happens during decode?
Explain the decode phase.
What is the decode phase?
=> In the decode phase the model makes one new token per step, using the KV cache.
=> Decode is the phase after prefill: the answer is made token by token.

What is the difference between prefill and decode?
What is prefill and decode?
Compare prefill and decode.
=> Prefill reads the whole prompt in parallel, and decode writes the answer one token at a time. Prefill is limited by compute and decode mostly by memory speed.
=> Prefill handles all prompt tokens at once; decode makes one token per step.

What is chunked prefill?
Explain chunked prefill.
Why use chunked prefill?
=> Chunked prefill cuts a long prompt into pieces, so that other requests can go on decoding between the pieces.
=> It splits a long prompt into smaller parts. That way one long prompt does not block everyone else.

What is time to first token?
What is TTFT?
What does TTFT mean?
Explain time to first token.
what is ttft
=> Time to first token, or TTFT, is how long you wait from sending a request until the first token arrives.
=> TTFT is the delay before the first token. It depends on the queue and on how long the prefill takes.

What is inter-token latency?
What is time per output token?
What does TPOT mean?
What is ITL?
=> It is the average time between two tokens of an answer while it is being written.
=> Inter-token latency is the time from one token to the next. Low values feel smooth to the reader.

What is throughput?
What does tokens per second mean?
How is speed measured?
How do you measure throughput?
=> Throughput is how many tokens the server makes per second over all requests.
=> It is measured in tokens per second. A larger batch gives more throughput, but each request may become a little slower.

What is latency?
What is the difference between latency and throughput?
Latency or throughput?
=> Latency is how long one request takes; throughput is how much work is done per second in total.
=> Latency is about one user waiting. Throughput is about all users together.

What is paged attention?
Explain paged attention.
How does paged attention work?
what is paged attention
What is a paged KV cache?
=> Paged attention stores the KV cache in small blocks, like pages of memory. Requests take blocks as they need them, so little memory is wasted.
=> With paged attention the KV cache is split into fixed blocks, and a table says which blocks belong to which request.

What is prefix caching?
Explain prefix caching.
What is a prompt cache?
Why is the second request faster?
=> Prefix caching keeps the KV cache of a common beginning, such as a system prompt, and reuses it for later requests.
=> If two prompts start with the same tokens, the server can reuse the cached keys and values and skip that part of the prefill.

What is quantization?
Explain quantization.
Why quantize a model?
what is quantization
What does int8 mean?
What is int4 quantization?
=> Quantization stores the weights with fewer bits, such as 8 or 4, so the model is smaller and often faster. It may lose a little accuracy.
=> It means using small numbers such as int8 in place of floats. The model needs less memory, with a small loss of quality.

Why is streaming useful?
What is streaming?
Why stream tokens?
How does streaming work?
Explain streaming.
How do I stream the answer?
What are server-sent events?
=> With streaming you see each token as soon as it is made, so you do not wait for the whole answer. Set "stream" to true in the request.
=> Streaming sends the answer piece by piece as server-sent events. It feels faster, because reading can start at once.

How do I change the model?
How can I use another model?
Can I use a different model?
How do I load a bigger model?
How do I switch the model?
how do i change the model
=> Give the server the folder or the name of another model when you start it. Then name that model in your request.
=> Start Chairlift with the path of another model. I am only the small default.

What is speculative decoding?
Explain speculative decoding.
How does speculative decoding work?
What is a draft model?
What is Foothill?
=> In speculative decoding a small draft model guesses a few tokens, and the large model checks them all in one step. Good guesses save time.
=> A draft model proposes several tokens and the main model verifies them at once. The result is the same, but it often comes faster.

What is temperature?
What does temperature do?
Explain temperature.
What temperature should I use?
=> Temperature controls how random the answer is. With 0 the model always takes the most likely token; higher values give more variety.
=> A low temperature gives safe answers and a high temperature gives surprising ones.

What is top-p?
What is top-k?
What is nucleus sampling?
What does top_p do?
Explain sampling.
What is greedy decoding?
=> Top-p keeps only the most likely tokens whose probabilities add up to p, and top-k keeps the k most likely ones. Then one of them is drawn.
=> Greedy decoding always takes the most likely token. Sampling draws from the likely tokens, and top-p and top-k limit the choice.

What is a context window?
What is the context length?
How long can my prompt be?
How much text can you read?
=> The context window is the largest number of tokens a model can read and write in one conversation. Mine is 2048 tokens.
=> It is the limit on prompt and answer together. I can handle up to 2048 tokens, but I work best with short texts.

What is a system prompt?
What is a system message?
What does the system message do?
=> A system message comes first and tells the model how to behave.
=> It sets the rules for the conversation, such as the style of the answers.

What is a stop token?
How do you know when to stop?
What is a stop sequence?
What is max_tokens?
=> I stop when I produce a special end token. You can also set max_tokens or stop sequences in the request.
=> An end token marks the end of an answer. The server stops there, or when max_tokens is reached.

What is ONNX?
What is ONNX Runtime?
What is ONNX Runtime used for?
=> ONNX is an open format for neural networks, and ONNX Runtime is the engine that runs them on many kinds of hardware.
=> ONNX Runtime runs the model for Chairlift, on a CPU or a GPU.

What is an OpenAI-compatible API?
Which API do you use?
How do I call the API?
How do I send a request?
Is the API compatible with OpenAI?
=> Send your messages as JSON to /v1/chat/completions. Programs written for the OpenAI API can use it by changing the base address.
=> The server speaks the same HTTP format as OpenAI, so most clients work if you change the base URL.

What is a chat template?
What is ChatML?
What is the chat format?
=> A chat template turns a list of messages into one text for the model. ChatML marks each message with its role and an end token.
=> ChatML is a simple format: each message starts with a role and ends with a special token.

What is tool calling?
What is function calling?
How do tools work?
How do I use tools?
=> With tool calling the model writes a function name and its arguments as JSON. Your program runs the function and sends the result back.
=> You list tools in the request. I answer with a tool call, your program runs it, and then I use the result.

What is structured output?
What is JSON mode?
How do I get valid JSON?
What is constrained decoding?
=> Structured output limits the next token to those that fit a grammar or a schema, so the result is always valid JSON.
=> JSON mode makes sure that the answer can be parsed. The server blocks tokens that would break the format.

What is an embedding?
What are embeddings?
What is a vector?
=> An embedding is a list of numbers that stands for a piece of text. Similar texts have similar numbers.

What is a logit?
What are logits?
What are logprobs?
=> Logits are the raw scores that a model gives to each possible next token. A softmax turns them into probabilities.
=> Logprobs are the logarithms of token probabilities. They show how sure the model was.

What is a scheduler?
What does the scheduler do?
How does the server choose which request runs?
=> The scheduler decides at every step which requests run, which wait and how many prompt tokens are processed.
=> It picks waiting requests and adds them to the batch when there is room in the KV cache.

What is preemption?
What happens when memory is full?
What happens when the KV cache is full?
=> When there are no free cache blocks, the server pauses a request, frees its blocks and continues it later.
=> New requests wait in the queue, or a running request is paused until memory is free.

What is a queue?
Why do I have to wait?
Why is the answer slow?
Why is the first token slow?
=> Perhaps many requests are waiting. A request stays in the queue until there is room in the batch.
=> A long prompt or a full batch makes the first token slow.

What is grouped-query attention?
What is GQA?
What is multi-query attention?
=> In grouped-query attention several query heads share one key and value head. This makes the KV cache smaller.

What is RoPE?
What are position embeddings?
What is rotary position embedding?
=> RoPE turns the query and key vectors by an angle that depends on the position, so attention knows how far apart two tokens are.

What is a GPU?
Do I need a GPU?
Can I run this without a GPU?
Does Chairlift need a GPU?
=> No, a small model like me runs well on a CPU. A GPU helps with larger models and larger batches.
=> A GPU does many sums in parallel. You do not need one for me.

What is open source?
Is Chairlift open source?
What license do you have?
What is your licence?
Is this free?
=> Yes, Chairlift is open source, and I am licensed under Apache 2.0.
=> I am free to use under the Apache 2.0 licence.

What is inference?
What does inference mean?
What is a model server?
What is a token server?
=> Inference means running a trained model to get answers. A model server does this for many users.

What is TypeScript?
What language is Chairlift written in?
Is it written in Python?
=> TypeScript is JavaScript with types. Chairlift is written in TypeScript.
=> Chairlift is written in TypeScript and runs on Node.js.
""")

# indexes of the dialogues that are drawn more often
FREQUENT = [0, 0, 3, 11, 13, 16]


def server_question(rng: Random) -> Turns:
    """A question about the model or the server."""
    if rng.random() < 0.8:
        questions, answers = rng.choice(DIALOGUES)
    else:
        questions, answers = DIALOGUES[rng.choice(FREQUENT)]
    return [(casual(rng, rng.choice(questions), 0.15), rng.choice(answers))]
