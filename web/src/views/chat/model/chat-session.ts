/** An open chat: its messages as they are written, and what can be done with them. */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { refreshModels } from '../../../api/models.ts';
import { type RequestBody, toRequestBody } from '../request/request-body.ts';
import { runAnswer } from '../request/run-answer.ts';
import { writeChat, writeMessages } from './chat-store.ts';
import { MessageTree } from './message-tree.ts';
import { newId } from './new-id.ts';
import { type Attachment, type Chat, type ChatSettings, type Message, ROOT } from './types.ts';

/** How often an answer that is being written is stored. */
const STORE_MS = 2000;
const TITLE_CHARACTERS = 60;

/** A place in the conversation: a message, or several side by side. */
export interface Row {
  readonly id: string;
  readonly ids: readonly string[];
}

export class ChatSession {
  readonly chat: Signal<Chat>;
  readonly rows: ReadonlySignal<readonly Row[]>;
  readonly isRunning: ReadonlySignal<boolean>;
  readonly #tree: MessageTree;
  /** Counts changes of the tree's shape. */
  readonly #shape = signal(0);
  readonly #signals = new Map<string, Signal<Message>>();
  readonly #running = signal<ReadonlySet<AbortController>>(new Set());
  readonly #onChange: (chat: Chat) => void;

  /** @param onChange told of what a list of chats shows */
  constructor(chat: Chat, messages: readonly Message[], onChange: (chat: Chat) => void) {
    this.chat = signal(chat);
    this.#onChange = onChange;
    // What was being written when the page was closed.
    this.#tree = new MessageTree(
      messages.map((each) => (each.state === 'running' ? { ...each, state: 'stopped' } : each)),
    );
    this.isRunning = computed(() => this.#running.value.size > 0);
    const chosen = computed(() => this.chat.value.chosen);
    this.rows = computed(() => {
      void this.#shape.value;
      return this.#tree.path(chosen.value).map((message) => {
        const { id, group } = message;
        if (group === undefined) return { id, ids: [id] };
        const beside = this.#tree.childrenOf(message.parentId).filter((e) => e.group === group);
        return { id: group, ids: beside.map((each) => each.id) };
      });
    });
  }

  /** Changes while it is written. */
  message(id: string): ReadonlySignal<Message> {
    let found = this.#signals.get(id);
    if (found === undefined) {
      const message = this.#tree.get(id);
      if (message === undefined) throw new Error(`there is no message ${id}`);
      found = signal(message);
      this.#signals.set(id, found);
    }
    return found;
  }

  /** Along the chosen branches. */
  path(): Message[] {
    return this.#tree.path(this.chat.value.chosen);
  }

  allMessages(): Message[] {
    return [...this.#tree.all()];
  }

  pathTo(id: string | null): Message[] {
    return this.#tree.pathTo(id);
  }

  versionsOf(message: Message): Message[][] {
    void this.#shape.value;
    return this.#tree.versionsOf(message);
  }

  setSettings(changed: Partial<ChatSettings>): void {
    const { settings } = this.chat.peek();
    this.#setChat({ settings: { ...settings, ...changed } });
  }

  rename(title: string): void {
    this.#setChat({ title });
  }

  /** Shows this one of all that follow the same message. */
  choose({ id, parentId }: Message): void {
    this.#setChat({ chosen: { ...this.chat.peek().chosen, [parentId ?? ROOT]: id } });
  }

  /** Asks something, after the last message that is shown. */
  async send(content: string, attachments: readonly Attachment[]): Promise<void> {
    await this.#ask(this.path().at(-1)?.id ?? null, content, attachments);
  }

  /** Asks something else in the place of `message`, or puts another answer there. */
  async edit({ role, parentId, attachments, model }: Message, content: string): Promise<void> {
    if (role === 'user') return this.#ask(parentId, content, attachments ?? []);
    const answer = this.#create(parentId, {
      role,
      content,
      givenLength: content.length,
      state: 'done',
      ...(model === undefined ? {} : { model }),
    });
    await writeMessages([answer]);
  }

  /** Another answer in the place of `message`. */
  async regenerate({ parentId }: Message): Promise<void> {
    await this.#answer(parentId, '');
  }

  /** Another answer in the place of `message`, which begins with `given`. */
  async goOn({ parentId, model }: Message, given: string): Promise<void> {
    await this.#answer(parentId, given, model);
  }

  /** Says what the calls of `message` gave, and has the model go on. */
  async answerCalls(message: Message, results: readonly string[]): Promise<void> {
    let parentId = message.id;
    const made = (message.toolCalls ?? []).map(({ id }, index) => {
      const content = results[index] ?? '';
      const result = this.#create(parentId, { role: 'tool', content, toolCallId: id });
      parentId = result.id;
      return result;
    });
    await writeMessages(made);
    await this.#answer(parentId, '');
  }

  stop(): void {
    for (const controller of this.#running.peek()) controller.abort();
  }

  async #ask(
    parentId: string | null,
    content: string,
    attachments: readonly Attachment[],
  ): Promise<void> {
    if (this.#tree.size === 0) {
      const title = (content.trim() || (attachments[0]?.name ?? '')).replaceAll(/\s+/g, ' ');
      this.#setChat({ title: title.slice(0, TITLE_CHARACTERS) });
    }
    const isPlain = attachments.length === 0;
    const question = this.#create(parentId, {
      role: 'user',
      content,
      ...(isPlain ? {} : { attachments }),
    });
    await writeMessages([question]);
    await this.#answer(question.id, '');
  }

  /** @param onlyModel asks this one alone, for one answer */
  async #answer(parentId: string | null, given: string, onlyModel?: string): Promise<void> {
    const { settings } = this.chat.peek();
    const isOne = onlyModel !== undefined;
    const models = isOne ? [onlyModel] : [settings.model, ...settings.alsoModels];
    const asked = settings.parameters['n'];
    const numEach = isOne || typeof asked !== 'number' ? 1 : asked;
    const path = this.#tree.pathTo(parentId);
    const group = models.length * numEach > 1 ? { group: newId() } : {};
    const runs = models.map((model) => {
      const body = toRequestBody(path, settings, model, given);
      const answers = Array.from({ length: numEach }, () =>
        this.#create(parentId, {
          role: 'assistant',
          content: given,
          state: 'running',
          ...(model === null ? {} : { model }),
          ...schemaOf(settings, given),
          ...group,
        }),
      );
      return { body: isOne ? { ...body, n: 1 } : body, answers };
    });
    const [first] = runs[0]?.answers ?? [];
    if (first !== undefined) this.choose(first);
    await Promise.all(runs.map(({ body, answers }) => this.#run(body, answers, given)));
  }

  async #run(body: RequestBody, answers: readonly Message[], given: string): Promise<void> {
    const controller = new AbortController();
    this.#running.value = new Set([...this.#running.peek(), controller]);
    let written = answers;
    let storedAt = Date.now();
    await runAnswer({
      body,
      numAnswers: answers.length,
      given,
      signal: controller.signal,
      onChange: (fields) => {
        written = written.map((answer, index) => this.#update({ ...answer, ...fields[index] }));
        if (Date.now() - storedAt < STORE_MS) return;
        storedAt = Date.now();
        void writeMessages(written);
      },
    });
    this.#running.value = new Set([...this.#running.peek()].filter((each) => each !== controller));
    refreshModels();
    await writeMessages(written);
  }

  #create(
    parentId: string | null,
    fields: Omit<Message, 'id' | 'chatId' | 'parentId' | 'createdAt'>,
  ) {
    const chatId = this.chat.peek().id;
    const message: Message = { id: newId(), chatId, parentId, createdAt: Date.now(), ...fields };
    this.#tree.set(message);
    this.#shape.value += 1;
    this.choose(message);
    return message;
  }

  #update(message: Message): Message {
    this.#tree.set(message);
    const shown = this.#signals.get(message.id);
    if (shown !== undefined) shown.value = message;
    return message;
  }

  #setChat(changed: Partial<Chat>): void {
    this.chat.value = { ...this.chat.peek(), ...changed, changedAt: Date.now() };
    this.#onChange(this.chat.value);
    if (this.chat.value.title !== '') void writeChat(this.chat.value);
  }
}

function schemaOf({ output, schema }: ChatSettings, given: string): Partial<Message> {
  if (output === 'text' || given !== '') return {};
  return { schema: output === 'schema' ? schema : '' };
}
