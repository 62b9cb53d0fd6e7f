/** A flag as shells complete it. */
export interface CompletedFlag {
  /** Without dashes. */
  readonly name: string;
  readonly short: string | null;
  readonly meaning: string;
  /** Null for a switch. */
  readonly value: CompletedValue | null;
}

/** Words, names of files or folders, or what no shell knows. */
export type CompletedValue =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'file' | 'folder' | 'any' };

export interface CompletedCommand {
  readonly names: readonly string[];
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  readonly operand: CompletedValue;
}
