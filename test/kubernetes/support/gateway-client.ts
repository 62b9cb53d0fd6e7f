import { MachineScript } from './machine-script.ts';

/** A completion to ask for. */
export interface Question {
  readonly id: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly id: number;
  readonly status: number;
  /** IP address of the pod. */
  readonly servedBy: string;
  /** Tokens of the prompt. */
  readonly numPrompt: number;
  /** Those of them that were in the prefix cache. */
  readonly numCached: number;
  /** Text of the model, or the error. */
  readonly text: string;
}

/** Client that asks a gateway, or a pod, from a machine of the cluster. */
export class GatewayClient {
  readonly #script: MachineScript;
  #numAsked = 0;

  constructor(machine: ConstructorParameters<typeof MachineScript>[0], url: string) {
    this.#script = new MachineScript(machine, 'asker.ts', url);
  }

  /** Asks all at once. @returns in the same order */
  async ask(
    bodies: readonly object[],
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answered[]> {
    this.send(bodies, headers);
    return this.answers(bodies.length);
  }

  send(bodies: readonly object[], headers: Readonly<Record<string, string>> = {}): void {
    for (const body of bodies) {
      const question: Question = { id: this.#numAsked++, body, headers };
      this.#script.say(JSON.stringify(question));
    }
  }

  /** The next answers, in the order of their questions. */
  async answers(count: number): Promise<Answered[]> {
    const answers: Answered[] = [];
    while (answers.length < count) {
      answers.push(JSON.parse(await this.#script.next('an answer')) as Answered);
    }
    return answers.sort((a, b) => a.id - b.id);
  }

  /** Hangs up on all that is under way. */
  hangUp(): void {
    this.#script.kill();
  }
}
