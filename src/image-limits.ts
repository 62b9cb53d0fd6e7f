/** Bounds on images: part of LIMITS. */
export const IMAGE_LIMITS = {
  /** Pixels of an image, by its header, and of what it is resized to. */
  imagePixels: 25_000_000,
  /** Larger ones are read one at a time, whosever they are: each takes up to 10 bytes for a pixel. */
  imagePixelsInTurn: 2 ** 22,
  /** Images of a request of tensors. */
  images: 16,
  /** Threads that read images. */
  imageThreads: 2,
  /** Heap of such a thread, in megabytes; pixels are not in it. */
  imageThreadMb: 256,
  /** Milliseconds that a thread may spend on one image. */
  imageMs: 10_000,
  /** Images that wait for a thread or are in one, and bytes of their files ... */
  imagesWaiting: 256,
  imageBytesWaiting: 128 * 2 ** 20,
  /** ... and those of one client; a server without keys has one. */
  clientImagesWaiting: 128,
  clientImageBytesWaiting: 64 * 2 ** 20,
} as const;
