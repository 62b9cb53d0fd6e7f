/** Line icons of 24 by 24, in the color of the text around them. */
const PATHS = {
  chat: 'M4 5h16v11H9l-5 4z',
  text: 'M5 6h14M5 12h9M5 18h12',
  batch: 'M4 6h7M13 6h7M4 12h3M9 12h11M4 18h11M17 18h3',
  status: 'M3 12h4l3-7 4 14 3-7h4',
  bench: 'M4 20a8 8 0 1 1 16 0M12 20l4-6',
  docs: 'M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h7',
  theme: 'M12 4a8 8 0 1 0 8 8 6 6 0 0 1-8-8z',
  key: 'M8 11.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM10.500 12.500L19 4M15.500 7.500l3 3M13 10l2 2',
  keyboard: 'M3 7h18v10H3zM7 10.500h.01M10.300 10.500h.01M13.700 10.500h.01M17 10.500h.01M8 14h8',
  help: 'M9 9a3 3 0 1 1 4.500 2.600c-1 .6-1.500 1.200-1.500 2.400M12 17.500h.01',
  plus: 'M12 5v14M5 12h14',
  send: 'M5 12h13M12 5l7 7-7 7',
  stop: 'M6 6h12v12H6z',
  retry: 'M5 12a7 7 0 1 1 2 5M5 18v-5h5',
  edit: 'M4 20l1-5L16 4l4 4L9 19zM14 6l4 4',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  check: 'M5 12l5 5 9-10',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  left: 'M14 6l-6 6 6 6',
  right: 'M10 6l6 6-6 6',
  down: 'M6 10l6 6 6-6',
  close: 'M6 6l12 12M18 6L6 18',
  menu: 'M4 7h16M4 12h16M4 17h16',
  sliders: 'M4 8h10M18 8h2M4 16h2M10 16h10M14 6h4v4h-4zM6 14h4v4H6z',
  attach: 'M8 12l6-6a3 3 0 0 1 5 4l-8 8a5 5 0 0 1-7-7l7-7',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  upload: 'M12 16V5M7 9l5-5 5 5M5 20h14',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  play: 'M7 5l12 7-12 7z',
  pause: 'M8 5v14M16 5v14',
  record: 'M12 6a6 6 0 1 0 0 12 6 6 0 0 0 0-12z',
  search: 'M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM15.500 15.500L20 20',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
