/** An open chat: its messages as they are written, and what can be done with them. */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { defaultChatModel } from '../../../api/models.ts';
import { toRequestBody } from '../request/request-body.ts';
import { writeChat, writeMessages } from './chat-store.ts';
import { LiveAnswers } from './live-answers.ts';
import { MessageTree } from './message-tree.ts';
import { newId } from './new-id.ts';
import { RemoteAnswers } from './remote-answers.ts';
import {
  type Attachment,
  type Chat,
  type ChatSettings,
  DEFAULT_SETTINGS,
  type Message,
  ROOT,
} from './types.ts';

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
  /** Faults of parameters as they are typed, by name. */
  readonly faults = signal<ReadonlyMap<string, string>>(new Map());
  /** A message that is to be brought into sight. */
  readonly sought = signal<string | null>(null);
  readonly #tree: MessageTree;
  /** Counts changes of the tree's shape. */
  readonly #shape = signal(0);
  readonly #signals = new Map<string, Signal<Message>>();
  readonly #live = new LiveAnswers((message) => this.#update(message));
  readonly #remote = new RemoteAnswers((message) => this.#update(message));
  readonly #onChange: (chat: Chat) => void;

  /** @param onChange is called when something changes that a list of chats shows */
  constructor(chat: Chat, messages: readonly Message[], onChange: (chat: Chat) => void) {
    this.chat = signal(chat);
    this.#onChange = onChange;
    // If another tab writes them, it says so when it is asked.
    this.#tree = new MessageTree(messages.map(endedHere));
    this.isRunning = this.#live.isRunning;
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

  resetSettings(): void {
    const { model } = this.chat.peek().settings;
    this.#setChat({ settings: { ...DEFAULT_SETTINGS, model } });
  }

  /** @param fault null for a value that is as it should be, or is not there */
  setFault(parameter: string, fault: string | null): void {
    const faults = new Map(this.faults.peek());
    if (fault === null) faults.delete(parameter);
    else faults.set(parameter, fault);
    this.faults.value = faults;
  }

  rename(title: string): void {
    this.#setChat({ title });
  }

  /** Shows this one of all that follow the same message. */
  choose({ id, parentId }: Message): void {
    this.#setChat({ chosen: { ...this.chat.peek().chosen, [parentId ?? ROOT]: id } });
  }

  /** Shows a message, with the branches that lead to it. */
  reveal(id: string): void {
    for (const message of this.pathTo(id)) this.choose(message);
    const found = this.#tree.get(id);
    this.sought.value = found?.group ?? id;
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

  /** An answer to a question that has none. */
  async answer({ id }: Message): Promise<void> {
    await this.#answer(id, '');
  }

  /** Another answer in the place of `message`. */
  async regenerate({ parentId }: Message): Promise<void> {
    await this.#answer(parentId, '');
  }

  /** Another answer in the place of `message`, which begins with `given`. */
  async goOn({ parentId, model }: Message, given: string): Promise<void> {
    await this.#answer(parentId, given, model);
  }

  /** Takes what the calls of `message` gave, and has the model go on. */
  async answerCalls(message: Message, results: readonly string[]): Promise<void> {
    let parentId = message.id;
    const made = (message.toolCalls ?? []).map(({ id }, index) => {
      const content = results[index] ?? '';
      const result = this.#create(parentId, { role: 'tool', content, toolCallId: id });
      parentId = result.id;
      return result;
    });
    void writeMessages(made);
    await this.#answer(parentId, '');
  }

  stop(): void {
    this.#live.stop();
  }

  /** The page is left. */
  leave(): void {
    this.#live.leave();
  }

  /** Another tab has opened this chat. */
  tellTab(): void {
    this.#live.tell();
  }

  /** Takes over what another tab has made of the chat. */
  takeChat(chat: Chat): void {
    this.chat.value = { ...chat, chosen: { ...this.chat.peek().chosen, ...chat.chosen } };
  }

  /** Takes over what another tab has written. */
  takeMessages(messages: readonly Message[]): void {
    const others = messages.filter(({ id }) => !this.#live.has(id));
    const isNew = others.some(({ id }) => this.#tree.get(id) === undefined);
    for (const message of others) this.#remote.take(message);
    if (isNew) this.#shape.value += 1;
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
    // Not waited for: until its answer is there, the page would look as if nothing had been asked.
    void writeMessages([question]);
    await this.#answer(question.id, '');
  }

  /** @param onlyModel asks this one alone, for one answer */
  async #answer(parentId: string | null, given: string, onlyModel?: string): Promise<void> {
    const { settings } = this.chat.peek();
    const isOne = onlyModel !== undefined;
    const first = settings.model ?? defaultChatModel.peek()?.id ?? null;
    const models = isOne ? [onlyModel] : [first, ...settings.alsoModels];
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
      return { body: isOne ? { ...body, n: 1 } : body, answers, given };
    });
    const [shown] = runs[0]?.answers ?? [];
    if (shown !== undefined) this.choose(shown);
    await Promise.all(runs.map((run) => this.#live.run(run)));
  }

  #create(
    parentId: string | null,
    fields: Omit<Message, 'id' | 'chatId' | 'parentId' | 'createdAt'>,
  ) {
    const chatId = this.chat.peek().id;
    const message: Message = { id: newId(), chatId, parentId, createdAt: Date.now(), ...fields };
    this.#tree.set(message);
    this.#shape.value += 1;
    const chosen = { ...this.chat.peek().chosen, [parentId ?? ROOT]: message.id };
    this.#setChat({ chosen, changedAt: Date.now() });
    return message;
  }

  #update(message: Message): Message {
    this.#tree.set(message);
    const shown = this.#signals.get(message.id);
    if (shown !== undefined) shown.value = message;
    return message;
  }

  #setChat(changed: Partial<Chat>): void {
    this.chat.value = { ...this.chat.peek(), ...changed };
    this.#onChange(this.chat.value);
    if (this.chat.value.title !== '') void writeChat(this.chat.value);
  }
}

function endedHere(message: Message): Message {
  return message.state === 'running' ? { ...message, state: 'stopped', isCutOff: true } : message;
}

function schemaOf({ output, schema }: ChatSettings, given: string): Partial<Message> {
  if (output === 'text' || given !== '') return {};
  return { schema: output === 'schema' ? schema : '' };
}
