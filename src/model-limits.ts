/**
 * Bounds on what a hub's answers and a model folder's files may ask for: far above every model that
 * there is, and far below what would take the machine's memory.
 */
export const MODEL_LIMITS = {
  /** Characters of a path that a hub or a model's file names, and bytes of each part of it. */
  pathCharacters: 1024,
  fileNameBytes: 255,
  /** Bytes of an answer in JSON, such as a hub's list of files. */
  jsonAnswerBytes: 32 * 2 ** 20,
  /** Objects below a prefix of a bucket; pages of its listing, and bytes of each. */
  bucketKeys: 10_000,
  bucketPages: 100,
  bucketPageBytes: 8 * 2 ** 20,
  /** Parts that an object was uploaded in: the most that S3 has. */
  objectParts: 10_000,
  /** Bytes of an answer with credentials, and of a file with profiles of them. */
  credentialsBytes: 2 ** 20,
  /** Bytes of a JSON file or a chat template; large tokenizers have 35 MB. */
  textFileBytes: 64 * 2 ** 20,
  /** Bytes of a template that an operator gives; the longest known one has 20 kB. */
  chatTemplateBytes: 2 ** 20,
  /** Bytes of an ONNX file without external weights: the most that the format can have. */
  graphBytes: 2 ** 31 - 1,
  /** Bytes of a GGUF file before its weights: metadata, vocabulary and names of tensors. */
  ggufHeaderBytes: 256 * 2 ** 20,
  /** Files of a GGUF model that is split. */
  ggufParts: 1000,

  /** LoRA adapters that requests pick. */
  adapters: 1024,
  /** Bytes of an adapter's weights on the hub. */
  adapterBytes: 4096 * 2 ** 20,
  /** Patterns of an adapter's scales, and milliseconds that all may take to match names. */
  adapterPatterns: 1024,
  adapterPatternsMs: 1000,
  /** Pixels of each side of what a model takes an image as. */
  imageSide: 2048,
  /** Tiles that a language model sees of an image, and patches of each, or of an image that keeps its shape. */
  imageTiles: 256,
  imagePatches: 2 ** 14,
  /** Mel bins of a frame of speech. */
  melBins: 1024,
  /** Positions of an encoder of speech, and of its decoder's texts; the known ones have 1,500 and 448. */
  speechPositions: 2 ** 14,
  /** Heads of its decoder that tell when a token was said; the known ones have 23 at most. */
  alignmentHeads: 1024,
  /** Tokens, or sequences of them, that a model's texts never have. */
  suppressedTokens: 2 ** 14,
  /** Layers of a tower whose sums a text model gets besides what it sees. */
  deepLayers: 16,
  /** Models of a repository; further folders are not read. */
  repositoryModels: 1000,

  /** Bytes of the scores of all words for all tokens of a text: sparse encoders take no longer ones. */
  wordScoreBytes: 256 * 2 ** 20,
  vocabSize: 2 ** 22,
  /** Squares of tokens' lengths in characters, all together: the least that finding their merges takes. */
  mergeWork: 1e9,
  layers: 1024,
  /** Attention heads of a layer. */
  heads: 4096,
  headDim: 4096,
  /** Hidden states of each token. */
  hiddenStates: 16,
  /** Experts of a layer. */
  experts: 4096,
  /** `hidden_size` and `intermediate_size`. */
  width: 2 ** 20,
  /** Positions, in tokens, and values of a table of their angles (positions times half of a head). */
  positions: 2 ** 27,
  rotaryTableValues: 2 ** 30,
} as const;
