/* words.js - common nouns: the keys of the tour
 *
 * The first ones of each list are added to filters, in this order; all others are absent keys to look up. */

const EN = `dog cat horse cow sheep goat pig duck hen fox wolf bear deer lion tiger mouse rabbit frog snake whale shark eagle
owl crow bee ant spider turtle monkey camel
apple pear plum fig grape lemon orange peach cherry banana melon berry nut bread butter cheese milk egg rice soup salt
sugar honey tea coffee water juice wine beer cake pie meat fish bean corn wheat onion potato carrot tomato pepper
house home room door window wall floor roof garden kitchen table chair bed lamp mirror clock key lock box bag cup plate
bowl spoon knife fork pot pan bottle glass oven stove soap towel brush needle thread button coat shirt shoe hat glove
sock belt dress ring watch pocket paper pen pencil book page letter word name story song poem map picture paint colour
music drum piano guitar violin bell radio phone camera screen computer machine engine wheel road street bridge tunnel
tower castle church school office shop market bank station train bus car truck boat ship plane bicycle ticket
river lake sea ocean beach island coast harbour mountain hill valley field forest tree leaf root branch flower grass
seed stone rock sand dust mud iron gold silver copper steel coal oil gas fire smoke ash ice snow rain storm wind cloud
sky sun moon star planet earth night morning evening noon day week month year spring summer autumn winter hour minute
man woman child boy girl baby mother father brother sister uncle aunt cousin friend neighbour king queen prince
doctor nurse teacher student farmer baker cook driver pilot sailor soldier judge lawyer artist writer actor singer
head face eye ear nose mouth tooth tongue neck shoulder arm hand finger thumb back chest heart lung stomach leg knee
foot toe skin bone blood hair beard voice smile tear dream sleep thought idea plan answer reason truth lie
game ball team goal race prize card toy kite puzzle money coin price tax job work rest holiday party wedding gift
law rule war peace army flag border city town village country nation world number line circle square corner edge`;

const ZH = `小狗 小猫 骏马 黄牛 绵羊 山羊 小猪 鸭子 母鸡 狐狸 野狼 黑熊 梅花鹿 狮子 老虎 老鼠 兔子 青蛙 长蛇 鲸鱼 鲨鱼 老鹰
猫头鹰 乌鸦 蜜蜂 蚂蚁 蜘蛛 乌龟 猴子 骆驼
苹果 梨子 李子 葡萄 柠檬 橙子 桃子 樱桃 香蕉 西瓜 草莓 核桃 面包 黄油 奶酪 牛奶 鸡蛋 米饭 面条 饺子 白糖 食盐 蜂蜜 茶叶 咖啡
果汁 啤酒 蛋糕 豆腐 玉米 小麦 洋葱 土豆 萝卜 番茄 辣椒 白菜 大蒜 生姜 酱油 房子 房间 大门 窗户 墙壁 地板 屋顶 花园 厨房 桌子
椅子 床铺 台灯 镜子 时钟 钥匙 盒子 杯子 盘子 饭碗 勺子 筷子 菜刀 水壶 瓶子 烤箱 肥皂 毛巾 牙刷 针线 纽扣 大衣 衬衫 鞋子 帽子
手套 袜子 腰带 裙子 戒指 手表 口袋 纸张 钢笔 铅笔 书本 信件 词语 名字 故事 歌曲 诗歌 地图 图片 颜色 音乐 鼓声 钢琴 吉他 铃铛
收音机 电话 相机 屏幕 电脑 机器 引擎 车轮 道路 街道 桥梁 隧道 高塔 城堡 学校 办公室 商店 市场 银行 车站 火车 公交 汽车 卡车 小船
飞机 自行车 车票 河流 湖泊 大海 海洋 沙滩 岛屿 港口 高山 丘陵 山谷 田野 森林 树木 树叶 树根 花朵 青草 种子 石头 岩石 沙子 灰尘
泥土 钢铁 黄金 白银 红铜 煤炭 石油 火焰 烟雾 冰块 雪花 雨水 暴风 云朵 天空 太阳 月亮 星星 行星 地球 夜晚 早晨 傍晚 中午 星期
月份 春天 夏天 秋天 冬天 小时 分钟 男人 女人 孩子 男孩 女孩 婴儿 母亲 父亲 哥哥 弟弟 姐姐 妹妹 叔叔 阿姨 朋友 客人 邻居 国王
王后 王子 医生 护士 老师 学生 农民 厨师 司机 船长 士兵 法官 律师 画家 作家 演员 歌手 脑袋 脸庞 眼睛 耳朵 鼻子 嘴巴 牙齿 舌头
脖子 肩膀 手臂 手指 后背 胸口 心脏 肚子 膝盖 脚趾 皮肤 骨头 血液 头发 胡子 声音 笑容 眼泪 梦想 想法 计划 问题 答案 理由 真相
游戏 足球 队伍 目标 比赛 奖品 卡片 玩具 风筝 谜语 金钱 硬币 价格 工作 假期 聚会 婚礼 礼物 法律 规则 战争 和平 军队 旗帜 边界
城市 小镇 村庄 国家 民族 世界 数字 线条 圆圈 方块 角落 边缘 历史 文化 科学 技术 语言 经济 社会 自然 环境 能源 交通 教育 艺术
新闻 报纸 杂志 电影 戏剧 舞蹈 书法 围棋 茶馆 胡同 灯笼 剪纸 月饼 粽子 汤圆 春节 中秋 长城 故宫 熊猫 竹子 荷花 梅花`;

const LISTS = { en: EN.split(/\s+/), zh: ZH.split(/\s+/) };

/** The words in a language, the animals first. */
export const wordsIn = (language) => LISTS[language];

/** Many different keys: phrases of two words, the same in every run. */
export function phrases(language, count) {
    const words = wordsIn(language), space = language === "zh" ? "" : " ";
    /* A step without a common divisor with the number of pairs visits every pair once. */
    const pairs = words.length ** 2, step = coprimeTo(pairs, Math.floor(pairs * 0.618));
    return Array.from({ length: count }, (_, i) => {
        const pair = (i * step) % pairs;
        return words[Math.floor(pair / words.length)] + space + words[pair % words.length];
    });
}

function coprimeTo(number, from) {
    const divisor = (a, b) => (b === 0 ? a : divisor(b, a % b));
    return divisor(number, from) === 1 ? from : coprimeTo(number, from + 1);
}
