/** Files of a GGUF model that is split are numbered from 1, each with how many there are. */
const PART = /^(?<stem>.*)-(?<number>\d{5})-of-(?<count>\d{5})\.gguf$/i;

/** Next to a language model: the eyes of a multimodal one, statistics for quantizing, or drafts. */
const NO_MODEL = /(?:^|\/)(?:mmproj|imatrix|mtp)[^/]*\.gguf$|mmproj[^/]*\.gguf$/i;

const MMPROJ = /mmproj[^/]*\.gguf$/i;

/** Files to take if the user names none, as llama.cpp's `-hf` does. */
const PREFERRED = ['Q4_K_M', 'Q8_0'];

/** As Ollama calls the files of its models. */
const BLOB = /(?:^|[/\\])sha256-[0-9a-f]{64}$/;
/** Characters of such a name that tell one from the others. */
const BLOB_NAME = 'sha256-'.length + 12;

const EXTENSION = /\.gguf$/i;

export function isGguf(name: string): boolean {
  return EXTENSION.test(name) || BLOB.test(name);
}

/** Pieces of a file that was cut for the upload, which are no parts of a model by themselves. */
const PIECE = /\.gguf(?:\.part\d+of\d+|[.-]split-\w+)$/i;

export function isGgufPiece(name: string): boolean {
  return PIECE.test(name);
}

/** Name of a file's model: the file's name without the number of a part and the extension. */
export function ggufModelName(fileName: string): string {
  if (BLOB.test(fileName)) return fileName.slice(0, BLOB_NAME);
  return PART.exec(fileName)?.groups?.['stem'] ?? fileName.replace(EXTENSION, '');
}

/**
 * All files of a model, in order.
 * @param file its only one, or one of its parts
 */
export function ggufParts(file: string): string[] {
  const { stem, count } = PART.exec(file)?.groups ?? {};
  if (stem === undefined || count === undefined) return [file];
  const extension = file.slice(-'.gguf'.length);
  return Array.from({ length: Number(count) }, (_, index) => {
    const number = String(index + 1).padStart(5, '0');
    return `${stem}-${number}-of-${count}${extension}`;
  });
}

/** The GGUF models among files: of those that are split the first part only. */
export function ggufModels(names: readonly string[]): string[] {
  const models = names.filter((name) => EXTENSION.test(name) && !NO_MODEL.test(name));
  return models.filter((name) => Number(PART.exec(name)?.groups?.['number'] ?? 1) === 1);
}

/**
 * The model that somebody means: the file of that name, or of a type of weights that its name has
 * (`Q4_K_M`), as llama.cpp's `-hf` picks.
 * @param wanted null for the default: Q4_K_M, otherwise Q8_0, otherwise the first
 * @returns null if there is none
 */
export function pickGguf(names: readonly string[], wanted: string | null): string | null {
  const models = ggufModels(names);
  if (wanted !== null && isGguf(wanted)) {
    const [first] = ggufParts(wanted);
    return names.find((name) => name === first) ?? null;
  }
  for (const type of wanted === null ? PREFERRED : [wanted]) {
    const found = models.find((name) => hasType(name, type));
    if (found !== undefined) return found;
  }
  return wanted === null ? (models[0] ?? null) : null;
}

/**
 * The file beside a model with the part of it that sees: of several the first whose weights have the most
 * similar number of bits, as llama.cpp's `-hf` picks.
 * @param names with slashes, as the model's
 * @returns null if there is none
 */
export function pickMmproj(names: readonly string[], model: string): string | null {
  const bits = bitsOf(model);
  const beside = names.filter((name) => MMPROJ.test(name) && folderOf(name) === folderOf(model));
  const distance = (name: string) => Math.abs(bitsOf(name) - bits);
  const [nearest] = beside.toSorted().toSorted((a, b) => distance(a) - distance(b));
  return nearest ?? null;
}

function folderOf(name: string): string {
  return name.slice(0, name.lastIndexOf('/') + 1);
}

/** Bits of a type at the end of a file's name, such as 4 of `Q4_K_M`; 0 of a name without one. */
function bitsOf(name: string): number {
  const [, type = ''] = /[-.](\w+)$/.exec(ggufModelName(name)) ?? [];
  return Number(/\d+/.exec(type)?.[0] ?? 0);
}

/** Whether a file's name has a type, ended by a point or a dash. */
function hasType(name: string, type: string): boolean {
  const lower = name.toLowerCase();
  return ['.', '-'].some((end) => lower.includes(type.toLowerCase() + end));
}
