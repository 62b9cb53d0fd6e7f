/** Bounds on images: part of LIMITS. */
export const IMAGE_LIMITS = {
  /** Pixels of an image, by its header, and of what it is resized to. */
  imagePixels: 25_000_000,
  /** Pixels of a side, as many as a JPEG can have: a filter of Pillow's gets as wide. */
  imageEdge: 65_535,
  /** Larger ones are read one at a time, whosever they are: each takes up to 10 bytes for a pixel. */
  imagePixelsInTurn: 2 ** 22,
  /** Images of a request of tensors. */
  images: 16,
  /** Processes that read images. */
  imageProcesses: 2,
  /** Resident memory of such a process, in megabytes. */
  imageProcessMb: 768,
  /** Milliseconds that a process may spend on one image. */
  imageMs: 20_000,
  /** Images that wait for a process or are in one, and bytes of their files ... */
  imagesWaiting: 256,
  imageBytesWaiting: 128 * 2 ** 20,
  /** ... and those of one client; a server without keys has one. */
  clientImagesWaiting: 128,
  clientImageBytesWaiting: 64 * 2 ** 20,

  /** Images of a chat's prompt (--limit-mm-per-prompt). */
  promptImages: 16,
  /** Tokens of one, for a model that keeps its shape (--image-max-tokens). */
  imageTokens: 1280,
  /** Bytes of the file of one, and of all of a prompt. */
  imageBytes: 16 * 2 ** 20,
  promptImageBytes: 32 * 2 ** 20,
  /** Bytes of images that running chats hold, in their requests and decoded from them ... */
  imageBytesHeld: 768 * 2 ** 20,
  /** ... and those of one client; a server without keys has one. */
  clientImageBytesHeld: 256 * 2 ** 20,
  /** Characters of the URL of an image that is not in it. */
  imageUrlCharacters: 8192,
  /** Images that are fetched from other servers at once, and those of one client. */
  imageFetches: 16,
  clientImageFetches: 8,
  /** Milliseconds that fetching one may take. */
  imageFetchMs: 10_000,

  /** Bytes of images' embeddings that requests hold, until they have ended ... */
  imageEmbeddingBytes: 512 * 2 ** 20,
  /** ... and those of one client; a server without keys has one. */
  clientImageEmbeddingBytes: 256 * 2 ** 20,
  /** Images that are known by their files: how they were cut. */
  imagesKnown: 1024,
  /** Bytes of embeddings that are kept for the next request with the same image. */
  imageCacheBytes: 256 * 2 ** 20,
} as const;
