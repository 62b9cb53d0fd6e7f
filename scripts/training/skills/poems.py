"""Poems of rhyming couplets."""

from random import Random

from skills.wording import Turns, cap, casual

# words that rhyme; the first one begins a couplet and names its poem
RHYMES = [
    ("night", "light", "bright"),
    ("sea", "tree", "free"),
    ("day", "way", "play"),
    ("moon", "soon", "tune"),
    ("sky", "high", "by"),
    ("snow", "glow", "slow"),
    ("hill", "still"),
    ("rain", "again", "lane"),
    ("sun", "run", "done"),
    ("star", "far", "are"),
]
# word -> lines that end with it
LINES = {
    "night": [
        "The lamps are out, it is the night",
        "All the world is still tonight, good night",
        "Quiet comes the gentle night",
    ],
    "light": [
        "and in the window shines a light",
        "a candle gives a little light",
        "the morning brings a softer light",
    ],
    "bright": ["the little stars are warm and bright", "and every dream is clear and bright"],
    "sea": [
        "I walked along the quiet sea",
        "The ships come home across the sea",
        "A silver fish swims in the sea",
    ],
    "tree": ["and rested underneath a tree", "a bird sings in the tallest tree"],
    "free": ["the wind is wild, the wind is free", "my heart is light, my heart is free"],
    "day": ["The sun has brought another day", "It is a bright and quiet day"],
    "way": ["a little road has found its way", "the river knows the longest way"],
    "play": ["the children all come out to play", "and all the kittens start to play"],
    "moon": ["Above the hill there hangs a moon", "The owl looks up and greets the moon"],
    "soon": ["the night is here, and sleep comes soon", "the spring is coming, very soon"],
    "tune": ["the cricket plays a little tune", "the wind is humming an old tune"],
    "sky": ["A cloud is sailing through the sky", "The swallows write across the sky"],
    "high": ["the kite goes up, so very high", "the mountains stand so still and high"],
    "by": ["and all the hours wander by", "a slow white boat is passing by"],
    "snow": ["The fields are white with fallen snow", "The fox is walking through the snow"],
    "glow": ["the windows have a golden glow", "and far away the lanterns glow"],
    "slow": ["the evening comes so soft and slow", "the river sleeps, the clouds are slow"],
    "hill": ["A path goes up the grassy hill", "The sheep are sleeping on the hill"],
    "still": ["the air is cool, the leaves are still", "the pond is dark, the reeds are still"],
    "rain": ["I like the sound of summer rain", "The roof is singing with the rain"],
    "again": ["the flowers lift their heads again", "and then the sun comes out again"],
    "lane": ["a snail goes slowly down the lane", "the children splash along the lane"],
    "sun": ["The garden opens to the sun", "The cat is sleeping in the sun"],
    "run": ["the little streams begin to run", "the rabbits in the meadow run"],
    "done": ["the bees come home, their work is done", "and now the busy day is done"],
    "star": ["I saw a single evening star", "The sailor steers by one small star"],
    "far": ["it shines for travellers near and far", "it calls to me from very far"],
    "are": ["and all is well just where we are", "and I am glad of where we are"],
}


def poem(rng: Random) -> Turns:
    """A poem of one to three couplets about the first of its rhymes."""
    couplets = rng.choice([1, 2, 2, 2, 3])
    lines = []
    topics = []
    for first, *others in rng.sample(RHYMES, couplets):
        second = rng.choice(others)
        topics.append(first)
        lines.append(cap(rng.choice(LINES[first])) + ",")
        lines.append(cap(rng.choice(LINES[second])) + ".")
    requests = [
        "Write a poem about the {}.",
        "Write a short poem about the {}.",
        "Can you write a little poem about the {}?",
        "Please write a rhyme about the {}.",
        "A poem about the {}, please.",
        "Tell me a poem about the {}.",
    ]
    return [(casual(rng, rng.choice(requests).format(topics[0])), "\n".join(lines))]
