/** A chat in the terminal, with Ollama's commands. */
import { createInterface, type Interface } from 'node:readline';
import type { ChatBackend, ChatTurn } from './chat-backend.ts';
import { MessageReader } from './message-reader.ts';
import { tellAnswer } from './tell-answer.ts';
import { reasonOf } from '../../files/system-error.ts';

const HELP = `  /set system <text>   begin the conversation with this
  /clear               forget the conversation
  /bye                 leave; so does Ctrl-D
  """                  begin and end a message of several lines
  Ctrl-C               stop the answer
`;

const GREETING = 'Send a message (/? for help).\n';

const PROMPT = '>>> ';
const NEXT_PROMPT = '... ';

export interface TerminalChatOptions {
  readonly backend: ChatBackend;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Whether somebody types: then what is typed is shown, and can be edited. */
  readonly isTerminal: boolean;
  /** The system message; '' is none. */
  readonly system: string;
}

export class TerminalChat {
  readonly #options: TerminalChatOptions;
  readonly #lines: Interface;
  readonly #reader = new MessageReader();
  #system: string;
  #history: readonly ChatTurn[] = [];
  #answering: AbortController | null = null;

  constructor(options: TerminalChatOptions) {
    const { input, output, isTerminal, system } = options;
    this.#options = options;
    this.#system = system;
    this.#lines = createInterface({ input, output, terminal: isTerminal, prompt: PROMPT });
  }

  /** Until the user leaves. */
  async run(): Promise<void> {
    const interrupt = (): void => this.#interrupt();
    this.#lines.on('SIGINT', interrupt);
    process.on('SIGINT', interrupt);
    try {
      this.#say(GREETING);
      this.#ask();
      for await (const line of this.#lines) {
        if (!(await this.#take(line))) break;
        this.#ask();
      }
    } finally {
      process.off('SIGINT', interrupt);
      this.#lines.close();
    }
  }

  #ask(): void {
    this.#lines.setPrompt(this.#reader.isOpen ? NEXT_PROMPT : PROMPT);
    this.#lines.prompt();
  }

  /** Stops the answer; while there is none, forgets what was typed. */
  #interrupt(): void {
    if (this.#answering !== null) {
      this.#answering.abort();
      return;
    }
    this.#reader.reset();
    this.#say('\n(Ctrl-D or /bye to leave)\n');
    this.#ask();
  }

  /** @returns whether to go on */
  async #take(line: string): Promise<boolean> {
    const message = this.#reader.push(line);
    if (message === null || message.text.trim() === '') return true;
    const { text } = message;
    if (!message.isQuoted && text.startsWith('/')) return this.#obey(text.trim());
    await this.#answer(text);
    return true;
  }

  #obey(command: string): boolean {
    const system = /^\/set system\s+(?<text>[^]+)$/.exec(command)?.groups?.['text'];
    if (system !== undefined) {
      this.#system = system.replaceAll(/^"+|"+$/g, '');
      this.#say('The system message is set.\n');
    } else if (command === '/clear') {
      this.#history = [];
      this.#say('The conversation was cleared.\n');
    } else if (command === '/?' || command === '/help') {
      this.#say(HELP);
    } else if (command !== '/bye') {
      this.#say(`Unknown command ${command}; /? lists the commands.\n`);
    }
    return command !== '/bye';
  }

  /**
   * Answers and remembers the text, even if it was stopped; a question that failed is not remembered.
   */
  async #answer(content: string): Promise<void> {
    const { backend, output } = this.#options;
    const question: ChatTurn = { role: 'user', content };
    const system: readonly ChatTurn[] =
      this.#system === '' ? [] : [{ role: 'system', content: this.#system }];
    const { signal } = (this.#answering = new AbortController());
    try {
      const pieces = backend.answer([...system, ...this.#history, question], signal);
      const answer = await tellAnswer(pieces, output, signal);
      this.#history = [...this.#history, question, { role: 'assistant', content: answer }];
    } catch (error) {
      this.#say(`\n${reasonOf(error)}\n`);
    } finally {
      this.#answering = null;
    }
  }

  #say(text: string): void {
    this.#options.output.write(text);
  }
}
