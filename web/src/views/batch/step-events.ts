/** Events of /admin/steps, and of recordings: one on each line. */

export interface StartEvent {
  readonly type: 'start';
  readonly version: 1;
  readonly at: number;
  readonly model: string;
  /** One in so many iterations is told. */
  readonly every: number;
  /** Names of a cell's numbers, of kinds of work, and of reasons for giving up a slot. */
  readonly cell: readonly string[];
  readonly work: readonly string[];
  readonly sent_back_for: readonly string[];
}

export interface EngineEvent {
  readonly type: 'engine';
  readonly at: number;
  readonly instance: number;
  readonly state: 'starting' | 'ready' | 'recovering' | 'failed' | 'stopped';
  readonly crashes: number;
  readonly unfinished: number;
  readonly slots: number | null;
  readonly kv_tokens: number | null;
}

export interface RequestEvent {
  readonly type: 'request';
  readonly instance: number;
  readonly id: number;
  readonly request_id: string | null;
  readonly class: string | null;
  readonly prompt_tokens: number;
  readonly max_tokens: number;
  readonly arrived_at: number | null;
}

export interface StepEvent {
  readonly type: 'step';
  readonly instance: number;
  readonly step: number;
  readonly at: number;
  readonly ms: number;
  readonly run_ms: number;
  readonly predicted_ms: number;
  /** Zeros at the end of a cell are left out. */
  readonly cells: readonly (readonly number[])[];
  readonly waiting: readonly number[];
  readonly num_waiting: number;
  readonly sent_back: readonly (readonly [id: number, slot: number, reason: number])[];
  readonly pages: readonly [length: number, total: number, running: number, kept: number];
}

export interface QueueEvent {
  readonly type: 'queue';
  readonly at: number;
  readonly num_waiting: number;
  readonly requests: readonly {
    readonly request_id: string;
    readonly class: string | null;
    readonly prompt_tokens: number;
    readonly waited_ms: number;
  }[];
}

export interface LostEvent {
  readonly type: 'lost';
  readonly steps: number;
}

export type BatchEvent =
  | StartEvent
  | EngineEvent
  | RequestEvent
  | StepEvent
  | QueueEvent
  | LostEvent;
