/** Bounds on images: part of LIMITS. */
export const IMAGE_LIMITS = {
  /** Pixels of an image, by its header, and of what it is resized to. */
  imagePixels: 25_000_000,
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
} as const;
