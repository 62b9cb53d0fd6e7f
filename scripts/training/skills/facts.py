"""Small fact tables."""


def _pairs(text: str) -> list[tuple[str, str]]:
    """Parses "key: value; key: value; ..."."""
    items = text.replace("\n", " ").split(";")
    return [tuple(part.strip() for part in item.split(":")) for item in items]


def _questions(text: str) -> list[tuple[str, str]]:
    """Parses lines of the form "question => answer"."""
    return [tuple(line.split(" => ")) for line in text.strip().split("\n")]


# country: capital
CAPITALS = dict(_pairs("""
France: Paris; Germany: Berlin; Spain: Madrid; Italy: Rome; Portugal: Lisbon; England: London;
the United Kingdom: London; Ireland: Dublin; Scotland: Edinburgh; Wales: Cardiff; Norway: Oslo;
Sweden: Stockholm; Denmark: Copenhagen; Finland: Helsinki; Iceland: Reykjavik; Poland: Warsaw;
Austria: Vienna; Switzerland: Bern; Belgium: Brussels; the Netherlands: Amsterdam;
Luxembourg: Luxembourg; Greece: Athens; Turkey: Ankara; Hungary: Budapest; Romania: Bucharest;
Bulgaria: Sofia; Croatia: Zagreb; Serbia: Belgrade; Slovenia: Ljubljana; Slovakia: Bratislava;
the Czech Republic: Prague; Ukraine: Kyiv; Russia: Moscow; Estonia: Tallinn; Latvia: Riga;
Lithuania: Vilnius; Albania: Tirana; Malta: Valletta; Cyprus: Nicosia; Egypt: Cairo; Morocco: Rabat;
Tunisia: Tunis; Algeria: Algiers; Libya: Tripoli; Kenya: Nairobi; Ethiopia: Addis Ababa;
Ghana: Accra; Senegal: Dakar; Nigeria: Abuja; Uganda: Kampala; Rwanda: Kigali; Zambia: Lusaka;
Zimbabwe: Harare; Madagascar: Antananarivo; Angola: Luanda; Namibia: Windhoek;
the United States: Washington, D.C.; Canada: Ottawa; Mexico: Mexico City; Cuba: Havana;
Jamaica: Kingston; Costa Rica: San José; Panama: Panama City; Guatemala: Guatemala City;
Brazil: Brasília; Argentina: Buenos Aires; Chile: Santiago; Peru: Lima; Colombia: Bogotá;
Ecuador: Quito; Uruguay: Montevideo; Paraguay: Asunción; Venezuela: Caracas; Japan: Tokyo;
China: Beijing; South Korea: Seoul; North Korea: Pyongyang; India: New Delhi; Pakistan: Islamabad;
Nepal: Kathmandu; Bangladesh: Dhaka; Thailand: Bangkok; Vietnam: Hanoi; Cambodia: Phnom Penh;
Indonesia: Jakarta; Malaysia: Kuala Lumpur; the Philippines: Manila; Singapore: Singapore;
Mongolia: Ulaanbaatar; Iran: Tehran; Iraq: Baghdad; Saudi Arabia: Riyadh; Jordan: Amman;
Lebanon: Beirut; Qatar: Doha; Australia: Canberra; New Zealand: Wellington
"""))
# word: its opposite
OPPOSITES = _pairs("""
hot: cold; big: small; tall: short; fast: slow; day: night; up: down; left: right; open: closed;
happy: sad; light: dark; young: old; early: late; hard: soft; wet: dry; full: empty; loud: quiet;
strong: weak; rich: poor; clean: dirty; near: far; first: last; inside: outside; high: low;
thick: thin; wide: narrow; deep: shallow; easy: difficult; true: false; right: wrong; good: bad;
heavy: light; sweet: bitter; brave: afraid; kind: cruel; rough: smooth; sharp: blunt; awake: asleep;
alive: dead; begin: end; push: pull; buy: sell; give: take; win: lose; love: hate; laugh: cry;
come: go; rise: fall; north: south; east: west; summer: winter; always: never; before: after;
above: below; front: back; friend: enemy; question: answer; hello: goodbye; yes: no; more: less;
many: few; safe: dangerous; simple: complex; same: different; wild: tame; noisy: silent;
cheap: expensive; ancient: modern; polite: rude; generous: selfish; accept: refuse; arrive: leave;
attack: defend; increase: decrease; victory: defeat; success: failure; lead: follow;
remember: forget
""")
# animal: its sound
SOUNDS = _pairs("""
cow: moo; dog: woof; cat: meow; sheep: baa; duck: quack; pig: oink; horse: neigh; lion: roar;
owl: hoot; bee: buzz; snake: hiss; frog: ribbit; rooster: cock-a-doodle-doo; mouse: squeak;
hen: cluck; wolf: howl; donkey: hee-haw; crow: caw; turkey: gobble; goat: bleat; bear: growl;
bird: tweet; pigeon: coo; elephant: trumpet; goose: honk
""")
# animal: its young
YOUNG_ANIMALS = _pairs("""
dog: puppy; cat: kitten; cow: calf; sheep: lamb; horse: foal; pig: piglet; goat: kid;
duck: duckling; goose: gosling; hen: chick; bear: cub; lion: cub; deer: fawn; frog: tadpole;
kangaroo: joey; swan: cygnet; owl: owlet; eagle: eaglet; rabbit: kit; whale: calf; elephant: calf;
seal: pup; wolf: pup; butterfly: caterpillar
""")
# singular: plural
PLURALS = _pairs("""
cat: cats; dog: dogs; mouse: mice; goose: geese; child: children; man: men; woman: women;
foot: feet; tooth: teeth; person: people; ox: oxen; box: boxes; bus: buses; church: churches;
dish: dishes; baby: babies; city: cities; lady: ladies; story: stories; leaf: leaves; wolf: wolves;
knife: knives; wife: wives; life: lives; shelf: shelves; half: halves; potato: potatoes;
tomato: tomatoes; hero: heroes; sheep: sheep; deer: deer; fish: fish; book: books; tree: trees;
house: houses; horse: horses; apple: apples; fox: foxes; glass: glasses; match: matches;
brush: brushes; watch: watches; key: keys; monkey: monkeys; toy: toys; boy: boys; day: days;
cherry: cherries; berry: berries; fly: flies; party: parties; country: countries; family: families;
thief: thieves; loaf: loaves; piano: pianos; photo: photos; cactus: cacti; crisis: crises;
index: indexes; table: tables; chair: chairs; star: stars; bird: birds; cloud: clouds;
river: rivers; wish: wishes; kiss: kisses; penny: pennies
""")
# infinitive: past tense
PAST_TENSES = _pairs("""
go: went; run: ran; eat: ate; see: saw; take: took; give: gave; make: made; come: came; find: found;
write: wrote; read: read; sing: sang; swim: swam; drink: drank; begin: began; ring: rang; fly: flew;
grow: grew; know: knew; throw: threw; draw: drew; blow: blew; break: broke; speak: spoke;
steal: stole; choose: chose; freeze: froze; drive: drove; ride: rode; rise: rose; fall: fell;
feel: felt; keep: kept; sleep: slept; leave: left; meet: met; sit: sat; win: won; buy: bought;
bring: brought; think: thought; catch: caught; teach: taught; fight: fought; sell: sold; tell: told;
say: said; pay: paid; hear: heard; hold: held; stand: stood; understand: understood; lose: lost;
send: sent; build: built; spend: spent; cut: cut; put: put; walk: walked; talk: talked;
jump: jumped; play: played; look: looked; like: liked; love: loved; dance: danced; try: tried;
cry: cried; carry: carried; study: studied; stop: stopped; plan: planned; open: opened;
close: closed; help: helped; be: was; have: had; do: did; get: got; wear: wore; hide: hid;
bite: bit; forget: forgot; shine: shone; shake: shook; wake: woke
""")
# the rest of a question that starts with "How many" => answer
QUANTITIES = _questions("""
seconds are in a minute => There are 60 seconds in a minute.
minutes are in an hour => There are 60 minutes in an hour.
hours are in a day => There are 24 hours in a day.
days are in a week => There are 7 days in a week.
months are in a year => There are 12 months in a year.
weeks are in a year => There are about 52 weeks in a year.
days are in a year => There are 365 days in a year, and 366 in a leap year.
days are in a leap year => There are 366 days in a leap year.
years are in a decade => There are 10 years in a decade.
years are in a century => There are 100 years in a century.
years are in a millennium => There are 1000 years in a millennium.
centimetres are in a metre => There are 100 centimetres in a metre.
millimetres are in a centimetre => There are 10 millimetres in a centimetre.
metres are in a kilometre => There are 1000 metres in a kilometre.
grams are in a kilogram => There are 1000 grams in a kilogram.
millilitres are in a litre => There are 1000 millilitres in a litre.
inches are in a foot => There are 12 inches in a foot.
feet are in a yard => There are 3 feet in a yard.
items are in a dozen => There are 12 items in a dozen.
bits are in a byte => There are 8 bits in a byte.
sides does a triangle have => A triangle has 3 sides.
sides does a square have => A square has 4 sides.
sides does a hexagon have => A hexagon has 6 sides.
sides does a pentagon have => A pentagon has 5 sides.
legs does a spider have => A spider has 8 legs.
legs does an insect have => An insect has 6 legs.
legs does a dog have => A dog has 4 legs.
legs does a bird have => A bird has 2 legs.
arms does an octopus have => An octopus has 8 arms.
wheels does a bicycle have => A bicycle has 2 wheels.
wheels does a car have => A car usually has 4 wheels.
letters are in the alphabet => There are 26 letters in the English alphabet.
planets are in the solar system => There are 8 planets in the solar system.
continents are there => There are 7 continents: Africa, Antarctica, Asia, Europe, North America, Oceania and South America.
oceans are there => There are 5 oceans: the Arctic, Atlantic, Indian, Pacific and Southern oceans.
colours are in a rainbow => A rainbow has 7 colours: red, orange, yellow, green, blue, indigo and violet.
seasons are in a year => There are 4 seasons in a year: spring, summer, autumn and winter.
strings does a violin have => A violin has 4 strings.
strings does a guitar have => A guitar usually has 6 strings.
keys does a piano have => A standard piano has 88 keys.
degrees are in a circle => There are 360 degrees in a circle.
players are on a football team => A football team has 11 players on the pitch.
""")
# question => answer
GENERAL_KNOWLEDGE = _questions("""
What is the largest planet? => Jupiter is the largest planet in the solar system.
What is the smallest planet? => Mercury is the smallest planet in the solar system.
Which planet is closest to the sun? => Mercury is the planet closest to the sun.
Which planet is farthest from the sun? => Neptune is the planet farthest from the sun.
Which planet is known as the red planet? => Mars is known as the red planet.
Which planet has the brightest rings? => Saturn has the brightest rings.
What is the third planet from the sun? => Earth is the third planet from the sun.
What colour is the sky? => On a clear day the sky is blue.
What colour is grass? => Grass is green.
What colour is a banana? => A ripe banana is yellow.
What colour is snow? => Snow is white.
What do you get if you mix blue and yellow? => Blue and yellow make green.
What do you get if you mix red and yellow? => Red and yellow make orange.
What do you get if you mix red and blue? => Red and blue make purple.
What is water made of? => Water is made of hydrogen and oxygen; its formula is H2O.
What is the chemical symbol for gold? => The chemical symbol for gold is Au.
What is the chemical symbol for iron? => The chemical symbol for iron is Fe.
What is the chemical symbol for oxygen? => The chemical symbol for oxygen is O.
At what temperature does water boil? => At sea level water boils at 100 degrees Celsius.
At what temperature does water freeze? => Water freezes at 0 degrees Celsius.
What is the tallest animal? => The giraffe is the tallest animal.
What is the largest animal? => The blue whale is the largest animal.
What is the fastest land animal? => The cheetah is the fastest land animal.
What is the largest ocean? => The Pacific Ocean is the largest ocean.
What is the highest mountain? => Mount Everest is the highest mountain above sea level.
What is the largest continent? => Asia is the largest continent.
What do bees make? => Bees make honey.
What do cows eat? => Cows mostly eat grass.
What do pandas eat? => Pandas mostly eat bamboo.
Where do fish live? => Fish live in water.
What is a baby butterfly called? => A young butterfly is called a caterpillar.
What does the heart do? => The heart pumps blood around the body.
Why is the sky blue? => The air scatters blue light from the sun more than red light, so the sky looks blue.
Why do leaves fall in autumn? => Trees drop their leaves in autumn to save water and energy for the winter.
What makes a rainbow? => A rainbow appears when sunlight is bent and split into colours by drops of rain.
Why do we have seasons? => We have seasons because the Earth is tilted as it travels around the sun.
What is ice? => Ice is frozen water.
What is steam? => Steam is water that has become a gas.
Where does the sun rise? => The sun rises in the east.
Where does the sun set? => The sun sets in the west.
What is the moon? => The moon is a ball of rock that travels around the Earth.
What is the sun? => The sun is a star at the centre of the solar system.
What is a star? => A star is a huge ball of hot, glowing gas.
What do plants need to grow? => Plants need light, water, air and nutrients from the soil.
What is honey made from? => Bees make honey from the nectar of flowers.
What is bread made from? => Bread is made from flour, water and usually yeast and salt.
What is paper made from? => Paper is usually made from wood.
What is glass made from? => Glass is made mostly from sand.
What is cheese made from? => Cheese is made from milk.
Is a tomato a fruit? => Yes. In botany a tomato is a fruit, although it is often used as a vegetable.
Is a whale a fish? => No. A whale is a mammal that lives in the sea.
Is a spider an insect? => No. A spider has eight legs and is an arachnid.
Can penguins fly? => No. Penguins cannot fly, but they swim very well.
Do fish breathe air? => Most fish take oxygen from water with their gills.
How long does the Earth take to go around the sun? => The Earth takes about 365 days to go around the sun.
What is the square root of 9? => The square root of 9 is 3.
What is the square root of 16? => The square root of 16 is 4.
What is half of 10? => Half of 10 is 5.
What is pi? => Pi is the ratio of a circle's circumference to its diameter, about 3.14159.
Who wrote Romeo and Juliet? => William Shakespeare wrote Romeo and Juliet.
Who painted the Mona Lisa? => Leonardo da Vinci painted the Mona Lisa.
Who was the first person on the moon? => Neil Armstrong was the first person to walk on the moon, in 1969.
What language do people speak in Brazil? => Most people in Brazil speak Portuguese.
What language do people speak in France? => People in France speak French.
What language do people speak in Japan? => People in Japan speak Japanese.
What language do people speak in Germany? => People in Germany speak German.
What currency is used in Japan? => The currency of Japan is the yen.
What currency is used in the United States? => The currency of the United States is the dollar.
What is the opposite of north? => The opposite of north is south.
What is the first month of the year? => January is the first month of the year.
What is the last month of the year? => December is the last month of the year.
What is the first letter of the alphabet? => The first letter of the alphabet is A.
What is the last letter of the alphabet? => The last letter of the alphabet is Z.
Recite the alphabet. => A B C D E F G H I J K L M N O P Q R S T U V W X Y Z
""")
# countries that do not exist
INVENTED_COUNTRIES = [
    "Zorvania", "Blimland", "Quaxo", "Norwick Bay", "Trellonia", "Mirrowen", "Zindar", "Ploovia",
    "Haxenburg", "Oltaria", "Vexmoor", "Drindle", "Kalloway", "Sorrendia", "Wumpton", "Fernosia",
    "Yelmark", "Gristoria", "Lumbria", "Opalonia",
]
