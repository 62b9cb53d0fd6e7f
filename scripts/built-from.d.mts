export declare const PROGRAM_STAMP: string;
export declare function programSources(): string[];
export declare function isMadeFrom(stamp: string, files: readonly string[]): boolean;
