/** A token that is found within texts, before anything else. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  /** Whether spaces before and after it belong to it; they do not if left out. */
  readonly lstrip?: boolean | undefined;
  readonly rstrip?: boolean | undefined;
  /** Whether it is found as a word only; wherever it is if left out. */
  readonly single_word?: boolean | undefined;
  /** Whether it is found in the text as it is normalized; in the text itself if left out. */
  readonly normalized?: boolean | undefined;
}

/** The tokens of a model, whatever file they come from. */
export interface Vocabulary {
  /** By id. */
  readonly tokens: readonly string[];
  readonly ids: ReadonlyMap<string, number>;
  readonly unknown: string | null;
  readonly bos: string | null;
  readonly eos: string | null;
  /** Whether texts begin and end with them; null where its files do not say. */
  readonly addsBos: boolean | null;
  readonly addsEos: boolean | null;
  readonly added: readonly AddedToken[];
  /** Whether a token is made of characters, not a marker or a byte. */
  readonly isText: (id: number) => boolean;
}
