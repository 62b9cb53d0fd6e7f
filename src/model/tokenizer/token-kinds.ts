/** SentencePiece's kinds of tokens, which GGUF files have too (`tokenizer.ggml.token_type`). */
export const NORMAL = 1;
export const UNKNOWN = 2;
export const CONTROL = 3;
export const USER_DEFINED = 4;
export const UNUSED = 5;
export const BYTE = 6;
